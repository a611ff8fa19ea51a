//! Gathers the inputs that fuzzing starts from: `seeds <root of the repository> <output directory>`
//! writes `<target>/<number>` files and `words.dict`.
//!
//! - `seeds/<target>/*.hex`: one input per line, `#` begins a comment;
//! - `seeds/<target>/*.sql`: inputs apart by empty lines, used by both targets that read SQL;
//! - `sql-tests/*.slt`: each statement, behind the CREATE TABLEs of its file that it names;
//! - the vectors of `FORMAT.md`, for `key` and `row`;
//! - the words of the grammar and the names of the functions, for the dictionary.

use std::collections::BTreeSet;
use std::error::Error;
use std::fs;
use std::path::{Path, PathBuf};

/// The targets that read SQL.
const SQL_TARGETS: [&str; 2] = ["front", "evaluate"];

/// Bytes of one input at most; longer statements are tests of limits and slow.
const SEED_BYTES_MAX: usize = 4096;

type Result<T> = std::result::Result<T, Box<dyn Error>>;

/// Inputs of one target.
struct Inputs {
    target: &'static str,
    inputs: BTreeSet<Vec<u8>>,
}

fn main() -> Result<()> {
    let arguments: Vec<PathBuf> = std::env::args_os().skip(1).map(PathBuf::from).collect();
    let [root, out] = arguments.as_slice() else {
        return Err("seeds <root of the repository> <output directory>".into());
    };
    let own = root.join("conformance/fuzz/seeds");
    let sql = sql_inputs(root, &own)?;
    let format = fs::read_to_string(root.join("src/codec/FORMAT.md"))?;
    let mut all = vec![
        Inputs {
            target: "packets",
            inputs: hex_inputs(&own.join("packets"))?,
        },
        Inputs {
            target: "key",
            inputs: vectors(&format, &["key", "system", "corrupt"]),
        },
        Inputs {
            target: "row",
            inputs: vectors(&format, &["row", "corrupt"]),
        },
    ];
    for inputs in &mut all {
        inputs.inputs.extend(hex_inputs(&own.join(inputs.target))?);
    }
    for target in SQL_TARGETS {
        all.push(Inputs {
            target,
            inputs: sql.clone(),
        });
    }
    for Inputs { target, inputs } in &all {
        let directory = out.join(target);
        fs::create_dir_all(&directory)?;
        let short = inputs.iter().filter(|input| input.len() <= SEED_BYTES_MAX);
        for (number, input) in short.enumerate() {
            fs::write(directory.join(format!("{number:05}")), input)?;
        }
    }
    fs::write(out.join("words.dict"), dictionary(root)?)?;
    Ok(())
}

/// The files of a directory that end so; none when there is no directory.
fn files(directory: &Path, ending: &str) -> Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    let Ok(entries) = fs::read_dir(directory) else {
        return Ok(found);
    };
    for entry in entries {
        let path = entry?.path();
        if path.extension().is_some_and(|own| own == ending) {
            found.push(path);
        }
    }
    found.sort();
    Ok(found)
}

fn hex_inputs(directory: &Path) -> Result<BTreeSet<Vec<u8>>> {
    let mut inputs = BTreeSet::new();
    for path in files(directory, "hex")? {
        for line in fs::read_to_string(&path)?.lines() {
            let digits = line.split('#').next().unwrap_or_default();
            if !digits.trim().is_empty() {
                let bytes = unhex(digits);
                inputs.insert(bytes.ok_or_else(|| format!("{}: {line}", path.display()))?);
            }
        }
    }
    Ok(inputs)
}

/// Bytes of hexadecimal digits; blanks between them are left out.
fn unhex(text: &str) -> Option<Vec<u8>> {
    let digits: Option<Vec<u8>> = text
        .chars()
        .filter(|c| !c.is_whitespace())
        .map(|c| c.to_digit(16).and_then(|digit| u8::try_from(digit).ok()))
        .collect();
    let digits = digits?;
    let pairs = digits.chunks(2);
    pairs
        .map(|pair| Some((pair.first()? << 4) | pair.get(1)?))
        .collect()
}

/// The bytes of the vectors in blocks of these kinds.
fn vectors(format: &str, kinds: &[&str]) -> BTreeSet<Vec<u8>> {
    let mut inputs = BTreeSet::new();
    let mut kind = None;
    let mut row = Vec::new();
    for line in format.lines() {
        if let Some(fence) = line.strip_prefix("```") {
            if kind == Some("row") && kinds.contains(&"row") {
                inputs.insert(std::mem::take(&mut row));
            }
            kind = (kind.is_none()).then_some(fence);
            row.clear();
        } else if kind == Some("row") {
            let digits = line.split(';').next().unwrap_or_default();
            row.extend(unhex(digits).unwrap_or_default());
        } else if kind.is_some_and(|kind| kinds.contains(&kind)) {
            inputs.extend(line.split('|').skip(1).filter_map(unhex));
        }
    }
    inputs
}

fn sql_inputs(root: &Path, own: &Path) -> Result<BTreeSet<Vec<u8>>> {
    let mut inputs = BTreeSet::new();
    for target in SQL_TARGETS {
        for path in files(&own.join(target), "sql")? {
            let text = fs::read_to_string(path)?;
            inputs.extend(
                text.split("\n\n")
                    .map(|input| input.trim().as_bytes().to_vec()),
            );
        }
    }
    for path in files(&root.join("sql-tests"), "slt")? {
        inputs.extend(script_inputs(&fs::read_to_string(path)?));
    }
    Ok(inputs)
}

/// The statements of a test script, each behind the tables it names.
fn script_inputs(script: &str) -> Vec<Vec<u8>> {
    let mut inputs = Vec::new();
    let mut tables: Vec<(String, String)> = Vec::new();
    for record in script.split("\n\n") {
        let lines = record.lines().skip_while(|line| !is_head(line)).skip(1);
        let lines: Vec<&str> = lines.take_while(|line| *line != "----").collect();
        let statement = lines.join("\n");
        if statement.is_empty() {
            continue;
        }
        let named = tables.iter().filter(|(name, _)| names(&statement, name));
        let before: Vec<&str> = named.map(|(_, create)| create.as_str()).collect();
        let mut input = before.join(";\n");
        if !input.is_empty() {
            input.push_str(";\n");
        }
        input.push_str(&statement);
        inputs.push(input.into_bytes());
        if let Some(name) = created(&statement) {
            tables.retain(|(own, _)| *own != name);
            tables.push((name, statement));
        }
    }
    inputs
}

fn is_head(line: &str) -> bool {
    line.starts_with("statement ") || line.starts_with("query ")
}

/// The table that a statement makes.
fn created(statement: &str) -> Option<String> {
    let rest = statement.strip_prefix("CREATE TABLE ")?;
    let rest = rest.strip_prefix("IF NOT EXISTS ").unwrap_or(rest);
    let name: String = rest.chars().take_while(|c| is_word(*c)).collect();
    (!name.is_empty()).then_some(name)
}

fn names(statement: &str, name: &str) -> bool {
    statement.split(|c| !is_word(c)).any(|word| word == name)
}

fn is_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

/// libFuzzer's dictionary: `"word"` per line.
fn dictionary(root: &Path) -> Result<String> {
    let mut words: BTreeSet<String> = BTreeSet::new();
    let grammar = fs::read_to_string(root.join("src/sql/parse/word.rs"))?;
    let is_keyword =
        |word: &&str| 1 < word.len() && word.chars().all(|c| c.is_ascii_uppercase() || c == '_');
    words.extend(
        grammar
            .split(|c| !is_word(c))
            .filter(is_keyword)
            .map(str::to_owned),
    );
    for path in files(&root.join("src/sql/functions"), "rs")? {
        for line in fs::read_to_string(path)?.lines() {
            let name = line
                .trim()
                .strip_prefix('"')
                .and_then(|rest| rest.split_once("\" "));
            if let Some((name, _)) = name.filter(|(name, _)| name.chars().all(is_word)) {
                words.insert(format!("{name}("));
            }
        }
    }
    let signs = [
        "<=>",
        "<>",
        "<<",
        "->>",
        "||",
        "&&",
        ":=",
        "/*+",
        "*/",
        "'",
        "`",
        "x'",
        "@@",
        "1e308",
        "9223372036854775808",
        "-1",
        "'2024-02-29 12:34:56'",
        "0x",
        "\\xff",
    ];
    words.extend(signs.map(str::to_owned));
    Ok(words.iter().map(|word| format!("\"{word}\"\n")).collect())
}
