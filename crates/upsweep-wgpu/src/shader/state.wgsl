// Words that workgroups share.

@group(0) @binding(2) var<storage, read_write> state: array<atomic<u32>>;

const TICKET = 0u;
const FINISHED = 1u;
const RUN = 2u;
const FAULT = 3u;
const PUBLISHED = 8u;
