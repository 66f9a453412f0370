// Shortest paths for GridGraph, which has none: what its BFS does with a bitmap of active vertices, done with distances.
//
//     sssp [grid] [source] [memory in bytes]
//
// Needs a weighted grid (edge type 1) and weights that are not negative. Writes `distance` into the grid's folder: one
// float per vertex, infinity = not reached. Edges of active vertices lower the distances of their targets atomically;
// a lowered vertex is active in the next round. Distances do not depend on the order of edges where sums are exact:
// whole numbers up to 2^24.

#include "core/graph.hpp"

int main(int argc, char ** argv) {
	if (argc != 4) {
		fprintf(stderr, "usage: sssp [grid] [source] [memory in bytes]\n");
		return 2;
	}
	const VertexId source = atoi(argv[2]);
	Graph graph(argv[1]);
	if (graph.edge_type != 1) {
		fprintf(stderr, "%s has no weights; preprocess with -t 1\n", argv[1]);
		return 2;
	}
	graph.set_memory_bytes(atol(argv[3]));
	graph.set_vertex_data_bytes((long)graph.vertices * sizeof(float));

	BigVector<float> distance(graph.path + "/distance", graph.vertices);
	distance.fill(INFINITY);
	distance[source] = 0;
	Bitmap * active = graph.alloc_bitmap();
	Bitmap * next_active = graph.alloc_bitmap();
	next_active->clear();
	next_active->set_bit(source);

	const double started = get_time();
	long lowered = 1;
	while (lowered != 0) {
		std::swap(active, next_active);
		next_active->clear();
		graph.hint(distance);
		lowered = graph.stream_edges<long>([&](Edge & e) {
			const float through = distance[e.source] + e.weight;
			if (distance[e.target] > through && write_min(&distance[e.target], through)) {
				next_active->set_bit(e.target);
				return 1;
			}
			return 0;
		}, active);
	}
	const double seconds = get_time() - started;

	const VertexId reached = graph.stream_vertices<VertexId>([&](VertexId v) { return distance[v] != INFINITY; });
	printf("reached %d vertices from %d in %.2f seconds\n", reached, source, seconds);
	return 0;
}
