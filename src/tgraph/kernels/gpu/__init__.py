"""Kernels in Triton for GPUs, wrapped as operators of torch.

The same operator runs on CUDA, ROCm and XPU; on CPU tensors it runs in Triton's interpreter where that is switched on
(`TRITON_INTERPRET=1`), else on a twin, and on the tests' fake accelerator like on the CPU. Only this folder imports
triton, and nobody imports this folder before `kernels.registry` has said so.
"""
