// Holds the device for so many clocks, while the host launches behind it what is measured: so that no launch of that waits
// for the host. One thread.

extern "C" __global__ void hold(i64 clocks) {
    const i64 begin = clock64();
    while (clock64() - begin < clocks) {
    }
}
