// Batches of insertions and deletions for RisGraph, which has only a window that slides over the edges of one file.
//
//     risgraph_batches [task] [source] [vertices] [graph] [sizes] [batches] [answers] [wall or cpu]
//
// The task is bfs, sssp or wcc. `graph` holds the edges to begin with; `sizes` two numbers of edges per batch, to insert
// and to delete; `batches` those edges, batch after batch. Edges are three unsigned 64-bit numbers: source, target,
// weight. Every batch does what RisGraph's own *_inc_batch programs do, in their order: insert, follow, delete, follow.
// Prints two lines of seconds per batch, "apply compute", by the clock on the wall or by the processors' time, and the
// peak of resident bytes meanwhile; writes the values of all vertices at the end to `answers` as unsigned 64-bit numbers,
// 2^27 = not reached. RisGraph's programs make weights from ids; here they are those of the file.

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <string>
#include <time.h>
#include <utility>
#include <vector>
#include <tbb/tbb.h>
#if __has_include(<oneapi/tbb.h>)
namespace tbb { struct task_scheduler_init { explicit task_scheduler_init(int) {} }; }  // oneTBB has it no more
#endif
#include "core/graph.hpp"

const uint64_t UNREACHED = 1ul << 27;

struct Row { uint64_t source, target, weight; };

struct Bfs {
	using EdgeData = void;
	static constexpr bool directed = true;
	uint64_t source;
	static Edge<void> edge(const Row & row) { return {row.source, row.target}; }
	template <typename E> static uint64_t along(uint64_t value, const E &) { return value + 1; }
	std::pair<uint64_t, bool> init(uint64_t v) const { return {v == source ? 0 : UNREACHED, v == source}; }
};

struct Sssp {
	using EdgeData = uint64_t;
	static constexpr bool directed = true;
	uint64_t source;
	static Edge<uint64_t> edge(const Row & row) { return {row.source, row.target, row.weight}; }
	template <typename E> static uint64_t along(uint64_t value, const E & edge) { return value + edge.data; }
	std::pair<uint64_t, bool> init(uint64_t v) const { return {v == source ? 0 : UNREACHED, v == source}; }
};

struct Wcc {
	using EdgeData = void;
	static constexpr bool directed = false;
	uint64_t source;
	static Edge<void> edge(const Row & row) { return {row.source, row.target}; }
	template <typename E> static uint64_t along(uint64_t value, const E &) { return value; }
	std::pair<uint64_t, bool> init(uint64_t v) const { return {v, true}; }
};

template <typename T>
std::vector<T> read_all(const char * path) {
	FILE * file = fopen(path, "rb");
	if (file == nullptr) { perror(path); exit(2); }
	fseek(file, 0, SEEK_END);
	std::vector<T> values(ftell(file) / sizeof(T));
	rewind(file);
	if (fread(values.data(), sizeof(T), values.size(), file) != values.size()) { perror(path); exit(2); }
	fclose(file);
	return values;
}

clockid_t seconds_of = CLOCK_MONOTONIC;

double now() {
	timespec found;
	clock_gettime(seconds_of, &found);
	return found.tv_sec + 1e-9 * found.tv_nsec;
}

void forget_peak() {
	FILE * file = fopen("/proc/self/clear_refs", "w");
	fputs("5", file);
	fclose(file);
}

long peak_kilobytes() {
	FILE * file = fopen("/proc/self/status", "r");
	char line[256];
	long found = 0;
	while (fgets(line, sizeof line, file)) sscanf(line, "VmHWM: %ld", &found);
	fclose(file);
	return found;
}

template <typename Program>
int run(const Program program, uint64_t vertices, char ** paths) {
	constexpr bool directed = Program::directed;
	auto base = read_all<Row>(paths[0]);
	Graph<typename Program::EdgeData> graph(vertices, base.size(), !directed, directed);
	#pragma omp parallel for
	for (uint64_t i = 0; i < base.size(); i++) graph.add_edge(Program::edge(base[i]), directed);
	base = {};
	using AdjacentEdge = typename decltype(graph)::adjedge_type;
	using WholeEdge = typename decltype(graph)::edge_type;
	auto labels = graph.template alloc_vertex_tree_array<uint64_t>();
	auto go_on = [](uint64_t, uint64_t total, uint64_t local) { return std::make_pair(local > 0, total + local); };
	auto update = [](uint64_t, uint64_t, uint64_t from, uint64_t to, AdjacentEdge edge) {
		return std::make_pair(Program::along(from, edge) < to, Program::along(from, edge));
	};
	auto count = [](uint64_t old, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t) { return old + 1; };
	auto equal = [](uint64_t, uint64_t, uint64_t from, uint64_t to, AdjacentEdge edge) {
		return Program::along(from, edge) == to;
	};
	auto init = [=](uint64_t v) { return program.init(v); };
	const double began = now();
	graph.template build_tree<uint64_t, uint64_t>(init, go_on, update, count, labels);
	printf("fresh %.6f\n", now() - began);

	const auto sizes = read_all<uint64_t>(paths[1]);
	const auto rows = read_all<Row>(paths[2]);
	const uint64_t largest = *std::max_element(sizes.begin(), sizes.end());
	std::vector<WholeEdge> done(largest);
	const Row * next = rows.data();
	forget_peak();
	for (uint64_t b = 0; b < sizes.size(); b++) {
		const bool inserts = b % 2 == 0;
		const uint64_t length = sizes[b];
		std::atomic_uint64_t num_done(0);
		auto change = [&](uint64_t i) {
			const WholeEdge edge = Program::edge(next[i]);
			const uint64_t before = inserts ? graph.add_edge(edge, directed) : graph.del_edge(edge, directed);
			if (before == (inserts ? 0 : 1)) done[num_done.fetch_add(1)] = edge;
		};
		const double started = now();
		if (length > 1024) {
			#pragma omp parallel for
			for (uint64_t i = 0; i < length; i++) change(i);
		} else {
			for (uint64_t i = 0; i < length; i++) change(i);
		}
		const double applied = now();
		if (num_done > 0 && inserts) {
			graph.template update_tree_add<uint64_t, uint64_t>(go_on, update, count, labels, done, num_done.load(), directed);
		} else if (num_done > 0) {
			graph.template update_tree_del<uint64_t, uint64_t>(
				init, go_on, update, count, equal, labels, done, num_done.load(), directed);
		}
		printf("%.7f %.7f\n", applied - started, now() - applied);
		next += length;
	}
	printf("peak %ld\n", peak_kilobytes() * 1024);
	fflush(stdout);
	std::vector<uint64_t> values(vertices);
	for (uint64_t v = 0; v < vertices; v++) values[v] = labels[v].data;
	FILE * file = fopen(paths[3], "wb");
	fwrite(values.data(), sizeof(uint64_t), vertices, file);
	fclose(file);
	_Exit(0);  // not to spend seconds on freeing every row
}

int main(int argc, char ** argv) {
	if (argc != 9) {
		fprintf(stderr, "usage: risgraph_batches [task] [source] [vertices] [graph] [sizes] [batches] [answers] [clock]\n");
		return 2;
	}
	if (std::string(argv[8]) == "cpu") seconds_of = CLOCK_PROCESS_CPUTIME_ID;
	const std::string task = argv[1];
	const uint64_t source = strtoull(argv[2], nullptr, 10), vertices = strtoull(argv[3], nullptr, 10);
	if (task == "bfs") return run(Bfs{source}, vertices, argv + 4);
	if (task == "sssp") return run(Sssp{source}, vertices, argv + 4);
	if (task == "wcc") return run(Wcc{source}, vertices, argv + 4);
	fprintf(stderr, "%s is not known; use bfs, sssp or wcc\n", task.c_str());
	return 2;
}
