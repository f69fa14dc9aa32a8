// What a launch costs its caller at the least: one warp stores one word where the host looks for it. Beside it, an empty kernel and
// the driver's wait, and the same word by way of a graph.
//
//     nvcc -O3 -std=c++17 -arch=native -o launch benches/peers/cuda/launch.cu && ./launch
//
// Prints CSV: what, microseconds (median, quartiles).

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <string>
#include <vector>

#include <cuda_runtime.h>

/// As many bytes of arguments as a reduction has.
struct Arguments {
    unsigned long long unused[5];
    volatile unsigned long long* word;
    unsigned long long value;
};

__global__ void leave_word(const Arguments arguments) {
    if (threadIdx.x == 0) {
        *arguments.word = arguments.value;
    }
}

__global__ void nothing() {}

static double now() {
    using namespace std::chrono;
    return duration<double, std::micro>(steady_clock::now().time_since_epoch()).count();
}

static void print(const std::string& what, std::vector<double> times) {
    std::sort(times.begin(), times.end());
    const size_t n = times.size();
    printf("%s,%.2f,%.2f,%.2f\n", what.c_str(), times[n / 2], times[n / 4], times[n * 3 / 4]);
}

constexpr int WARMUP = 500, CALLS = 2500;

/// Times a call, and all until the word is there.
template <typename Call> static void time(const std::string& how, volatile unsigned long long* word, Call call) {
    std::vector<double> calls, all;
    for (int i = 0; i < WARMUP + CALLS; ++i) {
        *word = 0;
        const double begin = now();
        const unsigned long long value = call();
        const double returned = now();
        while (*word != value) {}
        const double there = now();
        if (i >= WARMUP) {
            calls.push_back(returned - begin);
            all.push_back(there - begin);
        }
    }
    print("call " + how, calls);
    print("to the word " + how, all);
}

int main() {
    unsigned long long* word;
    cudaHostAlloc(&word, 64, cudaHostAllocMapped);
    Arguments arguments{};
    cudaHostGetDevicePointer((void**)&arguments.word, word, 0);
    cudaStream_t stream;
    cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking);
    for (const auto& [name, where] : {std::pair{"in the default stream", cudaStream_t{}}, {"in a stream", stream}}) {
        time(name, word, [&, where = where] {
            ++arguments.value;
            leave_word<<<1, 32, 0, where>>>(arguments);
            return arguments.value;
        });
    }
    cudaGraph_t graph;
    cudaGraphExec_t ready;
    cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal);
    leave_word<<<1, 32, 0, stream>>>(arguments);
    cudaStreamEndCapture(stream, &graph);
    cudaGraphInstantiate(&ready, graph, 0);
    time("by a graph", word, [&] {
        cudaGraphLaunch(ready, stream);
        return arguments.value;
    });
    std::vector<double> empty;
    for (int i = 0; i < WARMUP + CALLS; ++i) {
        const double begin = now();
        nothing<<<1, 32, 0, stream>>>();
        cudaStreamSynchronize(stream);
        if (i >= WARMUP) {
            empty.push_back(now() - begin);
        }
    }
    print("empty kernel and the driver's wait", empty);
    return cudaGetLastError() != cudaSuccess;
}
