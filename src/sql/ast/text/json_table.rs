//! `JSON_TABLE`.

use super::Printer;
use crate::sql::ast::{JsonAction, JsonColumn, JsonTable};
use crate::types::literal::string_literal;

impl Printer<'_> {
    pub(super) fn json_table(&mut self, table: &JsonTable) {
        self.wrapped("json_table(", &table.document, ", ");
        self.word(&string_literal(&table.path));
        self.json_columns(&table.columns);
        self.word(") ");
        self.name(table.alias.as_deref().unwrap_or_default());
    }

    fn json_columns(&mut self, columns: &[JsonColumn]) {
        self.word(" columns (");
        self.list(columns, Printer::json_column);
        self.word(")");
    }

    fn json_column(&mut self, column: &JsonColumn) {
        match column {
            JsonColumn::Ordinality(name) => {
                self.name(name);
                self.word(" for ordinality");
            }
            JsonColumn::Value(column) => {
                self.name(&column.name);
                self.words(&[" ", &column.ty.to_string()]);
                self.word(if column.exists {
                    " exists path "
                } else {
                    " path "
                });
                self.word(&string_literal(&column.path));
                self.json_action(&column.on_empty, " on empty");
                self.json_action(&column.on_error, " on error");
            }
            JsonColumn::Nested { path, columns } => {
                self.words(&["nested path ", &string_literal(path)]);
                self.json_columns(columns);
            }
        }
    }

    fn json_action(&mut self, action: &JsonAction, when: &str) {
        match action {
            JsonAction::Null => {}
            JsonAction::Error => self.words(&[" error", when]),
            JsonAction::Default(json) => {
                self.words(&[" default ", &string_literal(json), when]);
            }
        }
    }
}
