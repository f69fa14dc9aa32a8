// Copies that the copy engine makes, and barriers in shared memory that count their bytes. From compute capability 9.0 on.

using Barrier = u64;

inline u32 shared_address(const void* pointer) { return u32(__cvta_generic_to_shared(pointer)); }

inline void prepare(Barrier* barrier, u32 arrivals) {
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(shared_address(barrier)), "r"(arrivals) : "memory");
}

/// What was prepared is known to the copy engine.
inline void end_preparing() { asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory"); }

inline void arrive(Barrier* barrier) {
    asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(shared_address(barrier)) : "memory");
}

/// Arrives, and makes the barrier wait for so many bytes too.
inline void arrive_with_bytes(Barrier* barrier, u32 bytes) {
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(shared_address(barrier)), "r"(bytes)
                 : "memory");
}

/// What this thread has written to shared memory comes before what the copy engine brings there.
inline void fence_copies() { asm volatile("fence.proxy.async.shared::cta;" ::: "memory"); }

/// Waits until the barrier has completed the phase of this parity.
inline void wait(Barrier* barrier, u32 parity) {
    u32 done = 0;
    while (!done) {
        asm volatile(
            "{\n.reg .pred done;\n"
            "mbarrier.try_wait.parity.shared::cta.b64 done, [%1], %2;\n"
            "selp.b32 %0, 1, 0, done;\n}"
            : "=r"(done)
            : "r"(shared_address(barrier)), "r"(parity)
            : "memory");
    }
}

/// Begins a copy into shared memory, of whole accesses of 16 bytes, at the end of which the barrier has its bytes.
inline void begin_copy(void* to, const void* from, u32 bytes, Barrier* barrier) {
    asm volatile(
        "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(shared_address(to)),
        "l"(from), "r"(bytes), "r"(shared_address(barrier))
        : "memory");
}
