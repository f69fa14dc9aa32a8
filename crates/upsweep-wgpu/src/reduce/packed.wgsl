// The sum above the count of workgroups, in one word: whoever completes the count has the sum, without a second round
// trip to it. What the sum carries over is lost, as it is to be. For sums of 32 bits, on devices with atomics of 64.

alias Total = u64;

fn collect(total: Acc) {
    let word = words_of(total)[0];
    let before = atomicAdd(&state.total, (u64(word) << 32u) | 1lu);
    if (u32(before) + 1u == parameters.workgroups) {
        atomicStore(&state.total, 0lu);
        write_result(acc_of(Words(u32(before >> 32u) + word)));
    }
}
