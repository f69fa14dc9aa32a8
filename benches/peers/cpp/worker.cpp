// A worker that runs the C++17 standard library's algorithms: the serial ones, the vectorised ones
// and those of std::execution::par_unseq, which libstdc++ runs on oneTBB. It answers the requests
// `prepare`, `check`, `run` and `free` that ../rust/src/main.rs describes, on the same inputs.
#include <sys/mman.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <execution>
#include <functional>
#include <iostream>
#include <memory>
#include <numeric>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

namespace execution = std::execution;

// ---- inputs and digests, as in ../rust/src/input.rs ----

static uint64_t hash(uint64_t index) {
  uint64_t z = (index + 1) * 0x9E3779B97F4A7C15u;
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
  return z ^ (z >> 31);
}

template <class T>
T item(uint64_t hash, bool whole) {
  if constexpr (std::is_integral_v<T>) return static_cast<T>(hash >> (64 - 8 * sizeof(T)));
  if (whole) return static_cast<T>(static_cast<int8_t>(hash >> 56 | 1));
  if constexpr (sizeof(T) == 4) return static_cast<T>(hash >> 40) / static_cast<T>(1u << 24);
  return static_cast<T>(hash >> 11) / static_cast<T>(1ull << 53);
}

template <class T>
uint64_t digest(const T* items, size_t n) {
  uint64_t sum = 0;
  for (size_t i = 0; i < n; i++) {
    uint64_t bits = 0;
    if constexpr (std::is_integral_v<T>) bits = static_cast<uint64_t>(items[i]);
    else std::memcpy(&bits, &items[i], sizeof(T));
    sum += bits * (2 * i + 1);
  }
  return sum;
}

// Pages of 2 MiB where the system has them, all faulted in, as in ../rust/src/buffer.rs.
template <class T>
std::shared_ptr<T[]> buffer(size_t n) {
  constexpr size_t huge = 2u << 20;
  const size_t bytes = n * sizeof(T) + 2 * huge;
  void* map = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (map == MAP_FAILED) throw std::bad_alloc();
  char* start = reinterpret_cast<char*>((reinterpret_cast<uintptr_t>(map) + huge - 1) / huge * huge);
  madvise(start, (n * sizeof(T) + huge - 1) / huge * huge, MADV_HUGEPAGE);
  std::memset(start, 0, n * sizeof(T));
  return {reinterpret_cast<T*>(start), [=](T*) { munmap(map, bytes); }};
}

// ---- engines ----

struct Engine {
  std::string name;
  unsigned threads;
  std::function<double(size_t)> run;
  std::function<uint64_t()> check;
};

struct Cell {
  std::vector<Engine> engines;

  // An engine that makes one value of the input.
  template <class F>
  void reduction(const char* name, unsigned threads, F reduce) {
    engines.push_back({name, threads, timed([=] {
                         auto value = reduce();
                         asm volatile("" : : "g"(&value) : "memory");
                       }),
                       [=] {
                         auto value = reduce();
                         return digest(&value, 1);
                       }});
  }

  // An engine that writes the output; `finish` makes an inclusive scan of what it wrote.
  template <class T, class F, class G>
  void scan(const char* name, unsigned threads, T* output, size_t n, F scan, G finish) {
    engines.push_back({name, threads, timed([=] {
                         scan();
                         asm volatile("" : : "g"(output) : "memory");
                       }),
                       [=] {
                         std::memset(output, 0x55, n * sizeof(T));
                         scan();
                         finish();
                         return digest(output, n);
                       }});
  }

  template <class F>
  static std::function<double(size_t)> timed(F call) {
    return [=](size_t calls) {
      const auto start = std::chrono::steady_clock::now();
      for (size_t i = 0; i < calls; i++) call();
      return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    };
  }
};

static const unsigned all = std::max(1u, std::thread::hardware_concurrency());

template <class T>
std::shared_ptr<T[]> input(size_t n, bool whole) {
  auto items = buffer<T>(n);
  for (size_t i = 0; i < n; i++) items[i] = item<T>(hash(i), whole);
  return items;
}

template <class T, class A>
void sum(Cell& cell, size_t n, bool whole) {
  auto owner = input<T>(n, whole);
  const T* x = owner.get();
  auto widen = [](T value) { return static_cast<A>(value); };
  cell.reduction("std::reduce", 1, [=, keep = owner] {
    return std::transform_reduce(x, x + n, A(0), std::plus<A>(), widen);
  });
  cell.reduction("std::reduce(unseq)", 1, [=] {
    return std::transform_reduce(execution::unseq, x, x + n, A(0), std::plus<A>(), widen);
  });
  cell.reduction("std::reduce(par_unseq)", all, [=] {
    return std::transform_reduce(execution::par_unseq, x, x + n, A(0), std::plus<A>(), widen);
  });
}

template <class T>
void position(Cell& cell, size_t n, bool whole, bool largest) {
  auto owner = input<T>(n, whole);
  const T* x = owner.get();
  auto find = [=](auto&& policy) {
    auto found = largest ? std::max_element(policy, x, x + n) : std::min_element(policy, x, x + n);
    return static_cast<uint64_t>(found - x);
  };
  cell.reduction("std::minmax_element", 1, [=, keep = owner] { return find(execution::seq); });
  cell.reduction("std::minmax_element(par_unseq)", all, [=] { return find(execution::par_unseq); });
}

template <class T>
void inclusive_scan(Cell& cell, size_t n, bool whole) {
  auto owner = input<T>(n, whole);
  auto results = buffer<T>(n);
  const T* x = owner.get();
  T* out = results.get();
  auto nothing = [] {};
  auto include = [=] {
    for (size_t i = 0; i < n; i++) out[i] += x[i];
  };
  cell.scan("std::inclusive_scan", 1, out, n,
            [=, keep = owner, keep_too = results] { std::inclusive_scan(x, x + n, out); }, nothing);
  cell.scan("std::inclusive_scan(par_unseq)", all, out, n,
            [=] { std::inclusive_scan(execution::par_unseq, x, x + n, out); }, nothing);
  cell.scan("std::exclusive_scan(par_unseq)", all, out, n,
            [=] { std::exclusive_scan(execution::par_unseq, x, x + n, out, T(0)); }, include);
}

static Cell prepare(const std::string& op, bool whole, const std::string& dtype, const std::string& acc, size_t n) {
  Cell cell;
  const std::string types = op == "sum" || op == "inclusive_scan" ? dtype + acc : dtype;
  if (op == "sum") {
    if (types == "u32u32") sum<uint32_t, uint32_t>(cell, n, whole);
    if (types == "i64i64") sum<int64_t, int64_t>(cell, n, whole);
    if (types == "f32f32") sum<float, float>(cell, n, whole);
    if (types == "f64f64") sum<double, double>(cell, n, whole);
    if (types == "u8u64") sum<uint8_t, uint64_t>(cell, n, whole);
    if (types == "i16i64") sum<int16_t, int64_t>(cell, n, whole);
  } else if (op == "argmin" || op == "argmax") {
    if (types == "u32") position<uint32_t>(cell, n, whole, op == "argmax");
    if (types == "f32") position<float>(cell, n, whole, op == "argmax");
  } else if (op == "inclusive_scan") {
    if (types == "u32u32") inclusive_scan<uint32_t>(cell, n, whole);
    if (types == "i64i64") inclusive_scan<int64_t>(cell, n, whole);
    if (types == "f32f32") inclusive_scan<float>(cell, n, whole);
    if (types == "f64f64") inclusive_scan<double>(cell, n, whole);
  }
  return cell;
}

int main() {
  Cell cell;
  std::string line;
  while (std::getline(std::cin, line)) {
    std::istringstream words(line);
    std::string request, a, b, c, d;
    size_t number;
    words >> request;
    auto engine = [&]() -> Engine& {
      words >> a;
      auto found = std::find_if(cell.engines.begin(), cell.engines.end(), [&](Engine& e) { return e.name == a; });
      return found == cell.engines.end() ? throw std::runtime_error("no engine " + a) : *found;
    };
    if (request == "prepare") {
      words >> a >> b >> c >> d >> number;
      cell = Cell();
      cell = prepare(a, b == "whole", c, d, number);
      std::cout << "engines";
      for (auto& e : cell.engines) std::cout << ' ' << e.name << ':' << e.threads;
      std::cout << std::endl;
    } else if (request == "check") {
      char text[32];
      std::snprintf(text, sizeof text, "digest %016llx", static_cast<unsigned long long>(engine().check()));
      std::cout << text << std::endl;
    } else if (request == "run") {
      Engine& e = engine();
      words >> number;
      char text[32];
      std::snprintf(text, sizeof text, "seconds %.9e", e.run(number));
      std::cout << text << std::endl;
    } else if (request == "free") {
      cell = Cell();
      std::cout << "ok" << std::endl;
    } else {
      return 1;
    }
  }
}
