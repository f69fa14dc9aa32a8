//! The numbers of the summation specification, version 1.
//!
//! `docs/summation.md` says in words and pictures in which order floats are combined, and why
//! the numbers are what they are. [`reference::specified`](crate::reference::specified) is the
//! same in code that is as plain as can be.

/// Version of the specification. The bits of a result change only with it.
pub const VERSION: u32 = 1;

/// Lanes of a reduction's tile: item `i` of the tile belongs to lane `i % LANES`.
pub const LANES: usize = 128;

/// Rows of a tile, in a reduction (of lanes) and in a scan (of groups).
pub const ROWS: usize = 16;

/// Items of a tile, in a reduction and in a scan.
pub const TILE: usize = LANES * ROWS;

/// Neighbouring items of a scan that are combined first.
pub const GROUP: usize = 4;

/// Groups of a row of a scan.
pub const GROUPS: usize = LANES / GROUP;

/// Tiles of a window of a scan. Windows are combined one after another.
pub const TILES: usize = 32;

/// Items of a window of a scan.
pub const WINDOW: usize = TILE * TILES;
