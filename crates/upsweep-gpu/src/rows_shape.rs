//! How the rows of an n-dimensional array are dealt out to threads: the same on every GPU.

use upsweep_core::summation::{LANES, ROWS, TILE, TILES};
use upsweep_core::{RowAxis, Rows, RowsStrategy};

use crate::{Syntax, Types};

/// Bytes of the widest access.
const WIDEST: u64 = 16;

/// Bytes that a thread has on their way at once, which take half of its registers, and half as many beside values of several words; and
/// accesses.
const BYTES_HELD: u32 = 256;
const ACCESSES_HELD: u32 = 16;

/// Items along rows that a thread goes through at once, in a loop that is written out.
const ITEMS_HELD: u32 = 64;

/// Words of the values of one access at most, where threads hold trees of them; of a scan, which has three trees.
const MOST_WORDS_OF_ACCESS: u32 = 8;
const MOST_WORDS_OF_SCAN: u32 = 4;

/// Workgroups that there are at least if rows have as many tiles: some for each multiprocessor of a large GPU, so that all have about as
/// much to do.
const LEAST_WORKGROUPS: u64 = 1 << 10;

/// Lines that a thread has at once in order, since it goes through each by itself.
const LINES_HELD_IN_ORDER: u32 = 4;

/// Threads of a scan, beside which its rows have no parts: parts are read twice.
const LEAST_THREADS_OF_SCAN: u64 = 1 << 16;

/// Threads of a workgroup of a scan, at least, those of the widest usual subgroup.
const LEAST_SIDE_BY_SIDE: usize = 32;

/// Columns of memory, at least, beside which threads of a scan lie across.
const LEAST_COLUMNS_OF_SCAN: usize = 32;

/// Most tiles of a part, which are a window in order.
const MOST_TILES: u32 = TILES as u32;

/// Parts of which one thread makes one.
const FAN: u64 = 32;

/// The sizes of a reduction of rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct RowsShape {
    /// Which way threads lie: along rows or across.
    pub way: RowsStrategy,
    /// Items of an access: of one row, or of as many rows.
    pub vector: u32,
    /// Threads that share a row; or that lie side by side.
    pub team: u32,
    /// Accesses of a thread in a line of a row.
    pub accesses: u32,
    /// Lines of a tile, and those that are held at once.
    pub lines: u32,
    /// Lines, or lanes, of which all accesses are on their way at once.
    pub held: u32,
    /// Lanes of a thread that lies across.
    pub lanes: u32,
    /// Rows that a team has at once, where rows are short.
    pub units: u32,
    /// Threads of a workgroup.
    pub threads: u32,
    /// Tiles of a part; 0 if each row has one tile and no parts.
    pub tiles: u32,
    /// Parts of a row.
    pub parts: u64,
    /// Workgroups of the first launch.
    pub workgroups: u64,
    /// Whether numbers of rows, items and parts, or places in the input or the output, take more than 32 bits.
    pub is_long: bool,
    /// Whether neighbours are folded first, and not lanes: for operators that do not commute, and totals of scans.
    pub in_order: bool,
}

/// What is known of the arrays and of the device.
#[derive(Clone, Copy, Debug)]
pub struct RowsFacts {
    /// The address of the input's first item, or how many bytes it is behind one where every access may begin.
    pub address: u64,
    /// Most threads that share a row: those of a subgroup, or of a workgroup if they share its memory.
    pub most_team: u32,
    /// Most threads of a workgroup.
    pub threads: u32,
    /// Which way threads lie, if that is asked for. Across there must be an axis.
    pub way: Option<RowsStrategy>,
}

impl RowsShape {
    /// The sizes of a reduction of these rows, of which there is at least one with at least one item.
    pub fn new<S: Syntax>(types: &Types<S>, rows: &Rows, facts: RowsFacts) -> Self {
        Sizes::new(types, rows, facts, !types.is_commutative()).shape()
    }

    /// The sizes of a scan of these rows, the totals of whose parts are found with the same sizes.
    pub fn of_scan<S: Syntax>(types: &Types<S>, rows: &Rows, facts: RowsFacts) -> Self {
        let sizes = Sizes::new(types, rows, facts, true);
        // Three trees of values of several words leave registers for one item of an access.
        let most_words = if sizes.words == 1 { MOST_WORDS_OF_SCAN } else { 1 };
        let sizes = Sizes { most_words, bytes_held: BYTES_HELD / 2, ..sizes };
        let is_narrow = |columns: &RowAxis| columns.len < LEAST_COLUMNS_OF_SCAN;
        let mut shape = match rows.across.last() {
            Some(columns) if facts.way == Some(RowsStrategy::Across) => sizes.across(columns),
            Some(columns) if is_narrow(columns) || sizes.words > MOST_WORDS_OF_SCAN => {
                sizes.along()
            }
            _ => sizes.shape(),
        };
        let tiles = rows.items().div_ceil(TILE) as u64;
        let threads = match shape.way {
            RowsStrategy::Along => rows.count() as u64 * u64::from(shape.team),
            _ => rows.count() as u64 / u64::from(shape.vector),
        };
        let mut of_part = u64::from(MOST_TILES);
        while of_part > 1 && threads * tiles.div_ceil(of_part) < LEAST_THREADS_OF_SCAN {
            of_part /= 2;
        }
        let parts = if threads < LEAST_THREADS_OF_SCAN { tiles.div_ceil(of_part) } else { 1 };
        shape.workgroups = shape.workgroups.div_ceil(shape.parts) * parts;
        if shape.way == RowsStrategy::Along {
            let teams = u64::from(shape.threads / shape.team);
            shape.workgroups = (rows.count() as u64 * parts).div_ceil(teams);
        }
        // Rows of one line have no tiles, and a team has several at once.
        let is_line = shape.way == RowsStrategy::Along && shape.lines == 1;
        let units = if is_line { ACCESSES_HELD / 2 / shape.accesses } else { 1 };
        if is_line {
            let teams = u64::from(shape.threads / shape.team * units);
            shape.workgroups = (rows.count() as u64).div_ceil(teams);
            return Self { tiles: 0, parts: 1, units, ..shape };
        }
        Self { tiles: of_part as u32, parts, units, ..shape }
    }

    /// Threads of a workgroup of a scan: across rows all lie side by side, and no more than there are columns for.
    pub fn scan_threads(&self, rows: &Rows) -> u32 {
        match (self.way, rows.across.last()) {
            (RowsStrategy::Across, Some(columns)) => {
                let side = columns.len.div_ceil(self.vector as usize).next_power_of_two();
                (side.max(LEAST_SIDE_BY_SIDE) as u64).min(self.threads.into()) as u32
            }
            _ => self.threads,
        }
    }

    /// Workgroups of a scan.
    pub fn scan_workgroups(&self, rows: &Rows) -> u64 {
        match (self.way, rows.across.split_last()) {
            (RowsStrategy::Across, Some((columns, outer))) => {
                let blocks = columns.len.div_ceil((self.scan_threads(rows) * self.vector) as usize);
                outer.iter().map(|axis| axis.len as u64).product::<u64>()
                    * blocks as u64
                    * self.parts
            }
            _ => self.workgroups,
        }
    }

    /// Items of an access to the output of a scan, whose items have so many bytes, from this address on: several of a group along rows;
    /// across, as many as are read, or one.
    pub fn out_vector(&self, rows: &Rows, size: usize, address: u64) -> u32 {
        let is_across = self.way == RowsStrategy::Across;
        let axes = if is_across { &rows.across } else { &rows.along };
        let others = if is_across { &rows.along } else { &rows.across };
        let Some((inner, outer)) = axes.split_last().filter(|(inner, _)| inner.output == 1) else {
            return 1;
        };
        let suits = |vector: u32| {
            let bytes = u64::from(vector) * size as u64;
            let mut strides = outer.iter().chain(others).map(|axis| axis.output.unsigned_abs());
            bytes <= WIDEST
                && size.is_power_of_two()
                && address.is_multiple_of(bytes)
                && inner.len.is_multiple_of(vector as usize)
                && rows.start[1].is_multiple_of(vector as usize)
                && strides.all(|stride| stride.is_multiple_of(vector as usize))
        };
        let wanted = if is_across { vec![self.vector] } else { vec![4, 2] };
        wanted.into_iter().find(|&vector| suits(vector)).unwrap_or(1)
    }

    /// How many parts are left by each launch that folds them: none if rows have one.
    pub fn folds(&self) -> Vec<u64> {
        let mut parts = self.parts;
        let mut left = Vec::new();
        while parts > 1 {
            parts = if self.in_order { 1 } else { parts.div_ceil(FAN) };
            left.push(parts);
        }
        left
    }
}

/// Whether numbers of rows and items, or places in the input or the output, take more than 32 bits: the last, and those behind it that threads
/// count to without reading them.
pub fn is_long(rows: &Rows) -> bool {
    let [input, output] = rows.last_places();
    let most = u64::from(u32::MAX) - (1 << 16);
    [rows.count(), rows.items(), input, output].iter().any(|&n| n as u64 > most)
}

struct Sizes<'a> {
    rows: &'a Rows,
    /// Bytes of an item, and words of a value.
    size: u64,
    words: u32,
    /// Words of the values of an access at most, across.
    most_words: u32,
    /// Bytes that a thread has on their way at once.
    bytes_held: u32,
    /// Lines that it has at once.
    lines_held: u32,
    in_order: bool,
    facts: RowsFacts,
    is_long: bool,
}

impl<'a> Sizes<'a> {
    fn new<S: Syntax>(types: &Types<S>, rows: &'a Rows, facts: RowsFacts, in_order: bool) -> Self {
        let is_long = is_long(rows);
        let (size, words) = (types.item.size() as u64, types.words());
        let most_words = MOST_WORDS_OF_ACCESS;
        let bytes_held = if words == 1 { BYTES_HELD } else { BYTES_HELD / 2 };
        let lines_held = if in_order { LINES_HELD_IN_ORDER } else { ROWS as u32 };
        Self { rows, size, words, most_words, bytes_held, lines_held, in_order, facts, is_long }
    }

    fn shape(&self) -> RowsShape {
        match (self.facts.way, self.rows.across.last()) {
            (Some(RowsStrategy::Along), _) | (_, None) => self.along(),
            (Some(RowsStrategy::Across), Some(columns)) => self.across(columns),
            (_, Some(columns)) if self.lies_across(columns) => self.across(columns),
            _ => self.along(),
        }
    }

    /// Whether threads lie across rows: next to each other there, and not along, if enough of them have something to do.
    fn lies_across(&self, columns: &RowAxis) -> bool {
        let is_contiguous = self.rows.along.last().is_some_and(|axis| axis.input == 1);
        let lanes = self.rows.items().min(LANES).next_power_of_two();
        columns.input == 1 && !is_contiguous && columns.len.saturating_mul(lanes) >= 64
    }

    /// Items of an access at most `most`, none of which may begin elsewhere than at a multiple of its bytes: `len` of them follow one another,
    /// and these are the strides from one such run to another.
    fn vector(&self, most: u64, len: usize, strides: impl Iterator<Item = isize> + Clone) -> u32 {
        let mut vector = (WIDEST / self.size).min(most).max(1);
        if !self.size.is_power_of_two() {
            return 1;
        }
        let suits = |vector: u64| {
            let is_whole = |items: u64| items.is_multiple_of(vector);
            let begins = self.facts.address.is_multiple_of(vector * self.size);
            begins
                && is_whole(len as u64)
                && is_whole(self.rows.start[0] as u64)
                && strides.clone().all(|stride| is_whole(stride.unsigned_abs() as u64))
        };
        while vector > 1 && !suits(vector) {
            vector /= 2;
        }
        vector as u32
    }

    fn lines_of(&self) -> u32 {
        (self.rows.items().min(TILE).div_ceil(LANES)).next_power_of_two() as u32
    }

    /// Tiles of a part, and parts of a row, if a workgroup takes a tile of `rows_at_once` rows.
    fn parts(&self, rows_at_once: u64) -> (u32, u64) {
        let tiles = self.rows.items().div_ceil(TILE) as u64;
        if tiles <= 1 {
            return (0, 1);
        }
        let mut of_part = u64::from(MOST_TILES).min(tiles.next_power_of_two());
        if !self.in_order {
            let workgroups = |of_part: u64| {
                (self.rows.count() as u64).div_ceil(rows_at_once) * tiles.div_ceil(of_part)
            };
            while of_part > 1 && workgroups(of_part) < LEAST_WORKGROUPS {
                of_part /= 2;
            }
        }
        (of_part as u32, tiles.div_ceil(of_part))
    }

    fn along(&self) -> RowsShape {
        let Self { rows, facts, .. } = self;
        let (count, items) = (rows.count() as u64, rows.items());
        let (inner, outer) = match rows.along.split_last() {
            Some((inner, outer)) => (*inner, outer),
            None => (RowAxis { len: 1, input: 1, output: 0 }, &[][..]),
        };
        // In order a thread has groups of four.
        let most = match inner.input {
            1 if !self.in_order => WIDEST,
            1 => 4,
            _ => 1,
        };
        let strides = rows.across.iter().chain(outer).map(|axis| axis.input);
        let vector = self.vector(most, inner.len, strides);
        let line = items.min(LANES).next_power_of_two().max(vector as usize) as u32;
        let (team, accesses) = match self.in_order {
            false => {
                let team = (line / vector).min(facts.most_team);
                (team, line / vector / team)
            }
            true => ((line / 4).clamp(1, facts.most_team.min(LANES as u32 / 4)), 4 / vector),
        };
        let bytes = accesses * vector * self.size as u32;
        let lines = self.lines_of();
        // In order a team that is no whole line has more of them.
        let lines = if self.in_order { lines * (line.max(4) / (team * 4)) } else { lines };
        // Each access has an address of its own.
        let held_at_most = if vector == 1 { ITEMS_HELD / 2 } else { ITEMS_HELD };
        let fits = (self.bytes_held / bytes.max(1)).min(held_at_most / (accesses * vector)).max(1);
        let held = lines.min(self.lines_held).min(1 << fits.ilog2());
        let teams = facts.threads / team;
        let (tiles, parts) = self.parts(teams.into());
        let most_units = (ACCESSES_HELD / (held * accesses)).min(fits / held).max(1);
        let units = if tiles == 0 && held == lines { 1 << most_units.ilog2() } else { 1 };
        let tiles = if units == 1 && held < lines { tiles.max(1) } else { tiles };
        let at_once = u64::from(teams * units);
        RowsShape {
            way: RowsStrategy::Along,
            vector,
            team,
            accesses,
            lines,
            held,
            lanes: 1,
            units,
            threads: facts.threads,
            tiles,
            parts,
            workgroups: (count * parts).div_ceil(at_once),
            is_long: self.is_long,
            in_order: self.in_order,
        }
    }

    fn across(&self, columns: &RowAxis) -> RowsShape {
        let Self { rows, facts, .. } = self;
        let items = rows.items();
        let most = u64::from((self.most_words / self.words).max(1)).min(4);
        let most = if columns.input == 1 { 1 << most.ilog2() } else { 1 };
        let outer = &rows.across[..rows.across.len() - 1];
        let strides = outer.iter().chain(&rows.along).map(|axis| axis.input);
        let vector = self.vector(most, columns.len, strides);
        let all_lanes = items.min(LANES).next_power_of_two() as u32;
        let lines = self.lines_of();
        let side = columns.len.div_ceil(vector as usize).next_power_of_two();
        // Eight slices of a long column: a subgroup side by side reads half a kilobyte of each row of memory.
        let wanted = (all_lanes * lines / ACCESSES_HELD).clamp(1, 8.min(all_lanes));
        let team = (side as u64).min(u64::from(facts.threads / wanted)) as u32;
        let slices = (facts.threads / team).min(all_lanes);
        let lanes = all_lanes / slices;
        let bytes = lines * vector * self.size as u32;
        let held = (self.bytes_held / bytes).min(ACCESSES_HELD / lines).max(1);
        let held = (1 << held.ilog2()).min(lanes);
        let blocks = columns.len.div_ceil((team * vector) as usize) as u64;
        let others = rows.count() as u64 / columns.len as u64;
        let at_once = rows.count() as u64 / (blocks * others).max(1);
        let (tiles, parts) = self.parts(at_once.max(1));
        RowsShape {
            way: RowsStrategy::Across,
            vector,
            team,
            accesses: 1,
            lines,
            held,
            lanes,
            units: 1,
            threads: team * slices,
            tiles,
            parts,
            workgroups: blocks * others * parts,
            is_long: self.is_long,
            in_order: self.in_order,
        }
    }
}

const _: () = assert!(LANES == 128 && ROWS == 16 && TILES == 32);
