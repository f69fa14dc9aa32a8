// What one launch tells the next: whole words, since launches follow one another.

fn hand_on(slot: u32, acc: Acc) {
    let words = words_of(acc);
    for (var k = 0u; k < WORDS; k++) { // unrolled
        atomicStore(&state[PUBLISHED + slot * WORDS + k], words[k]);
    }
}

fn handed(slot: u32) -> Acc {
    var words: Words;
    for (var k = 0u; k < WORDS; k++) { // unrolled
        words[k] = atomicLoad(&state[PUBLISHED + slot * WORDS + k]);
    }
    return acc_of(words);
}
