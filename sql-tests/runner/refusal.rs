//! Runs a query where full scans are refused: it is refused exactly when EXPLAIN says that it
//! would be one, in both of its forms; a query that is not refused is judged by its rows.

use crate::client::{Answer, Failure, Rows};

/// The errors of a refused SELECT, and of a refused UPDATE or DELETE.
const REFUSED: [u16; 2] = [1104, 1175];
/// Where EXPLAIN has its columns `table` and `type`.
const TABLE_COLUMN: usize = 2;
const TYPE_COLUMN: usize = 4;

/// What EXPLAIN says of a query.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Explained {
    /// The `type` of a table is `ALL`, and `FORMAT=TREE` shows a `FullScan`.
    is_scan: bool,
    /// `FORMAT=TREE` ends in the refusal.
    is_refused: bool,
}

/// The two statements whose answers [`explained`] reads.
pub(crate) fn statements(sql: &str) -> [String; 2] {
    [
        format!("EXPLAIN {sql}"),
        format!("EXPLAIN FORMAT=TREE {sql}"),
    ]
}

/// Reads the answers to [`statements`].
pub(crate) fn explained(table: &Rows, tree: &Rows) -> Result<Explained, String> {
    let text = |cell: Option<&Option<Vec<u8>>>| {
        let bytes = cell.and_then(Option::as_deref).unwrap_or_default();
        String::from_utf8_lossy(bytes).into_owned()
    };
    let tree = text(tree.cells.first());
    // What a query in the statement computes is read as a whole, and is no table.
    let mut rows = table.cells.chunks(table.columns_count.max(1));
    let is_all = rows.any(|row| {
        text(row.get(TYPE_COLUMN)) == "ALL" && !text(row.get(TABLE_COLUMN)).starts_with('<')
    });
    let is_scan = tree.contains("-> FullScan of ");
    if is_all != is_scan {
        return Err(format!("EXPLAIN says type ALL: {is_all}, but\n{tree}"));
    }
    Ok(Explained {
        is_scan,
        is_refused: tree.contains("\nRefused with error 1104: "),
    })
}

/// Whether the query was rightly refused; an error when answer and EXPLAIN do not agree.
pub(crate) fn judge(
    answer: &Result<Answer, Failure>,
    explained: Explained,
) -> Result<bool, String> {
    let was_refused =
        matches!(answer, Err(Failure::Server { errno, .. }) if REFUSED.contains(errno));
    if explained.is_scan == was_refused && explained.is_refused == was_refused {
        return Ok(was_refused);
    }
    Err(format!("refused: {was_refused}, but {explained:?}"))
}
