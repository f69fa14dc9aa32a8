// Items of a chunk in shared memory, where the copy engine brings them: threads have their registers for other things, so that more
// workgroups run at once, and what is read again is near.

constexpr bool READS_AGAIN = false;

/// What a workgroup shares of its items.
struct Stage {
    Barrier there;
    __align__(128) InMemory items[CHUNK];
};

/// A chunk's items.
struct ItemsOf {
    const Chunk& chunk;

    static Chunk chunk_of(const Scan& scan, Stage& stage, u32 number) {
        Inputs staged = scan.inputs;
        staged.in0 = stage.items;
        return Chunk(scan, staged, number);
    }

    /// Has them brought. Those of a part of a chunk are brought by all threads.
    ItemsOf(const Chunk& chunk, Stage& stage, u32, u32) : chunk(chunk) {
        const InMemory* from = chunk.source().in0;
        if (!chunk.is_whole()) {
            for (u32 item = threadIdx.x; item < chunk.left(); item += THREADS) {
                stage.items[item] = from[item];
            }
        } else if (threadIdx.x == 0) {
            prepare(&stage.there, 1);
            end_preparing();
            arrive_with_bytes(&stage.there, sizeof(stage.items));
            begin_copy(stage.items, from, sizeof(stage.items), &stage.there);
        }
    }

    /// All threads call it, unless they have met since they asked for items.
    void meet() const { __syncthreads(); }

    /// Waits for them.
    void wait_for(Stage& stage) const {
        if (chunk.is_whole()) {
            wait(&stage.there, 0);
        }
    }

    /// A row of this warp.
    Group row(u32 warp, u32 r, u32 lane) const { return of_row(warp * ROWS + r, lane); }

    /// The group that begins with item `at` of the chunk.
    Group group(u32 at) const { return of_row(at / ROW, at % ROW / GROUP); }

    Group of_row(u32 row, u32 lane) const { return chunk.is_whole() ? chunk.staged(row, lane) : chunk.staged_part(row, lane); }
};
