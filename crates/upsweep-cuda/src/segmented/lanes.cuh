// Aligned prefixes of what lanes have, where values know whether a segment begins.
//
// Lanes do not tell one another that: all know it from a vote. A lane takes what comes from the left in the steps that do not reach
// over the last beginning up to it, and which these are is seen from where the number of that lane first differs from its own.

/// The steps in which a lane takes what is to the left, if segments begin in lanes `begins` of those that it is number `lane` of.
inline u32 steps_of(u32 begins, u32 lane) {
    const u32 upto = begins & (ALL_LANES >> (SUBGROUP - 1 - lane));
    const u32 differs = upto ? lane ^ (SUBGROUP - 1 - __clz(upto)) : SUBGROUP - 1;
    return lane & __funnelshift_rc(ALL_LANES, 0, __clz(differs));
}
