//! Variables and status as tables: those of `performance_schema` that clients read.

use std::sync::Arc;

use super::table::{Column, Give, Made, NAME, UBIGINT, Wants, column, maybe, text, varchar};
use super::{PERFORMANCE_SCHEMA, Scene};
use crate::ceiling;
use crate::error::Result;
use crate::session::show::{status, variables};
use crate::sql::context::SessionFacts;
use crate::sql::expr::VariableScope;
use crate::types::column_type::LobSize;
use crate::types::{ColumnType, Value};

/// A name and its value as text.
type Pair = (String, String);

/// The most characters of a value.
const VALUE: ColumnType = varchar(1024);

impl Scene {
    fn variables(
        &self,
        scope: VariableScope,
        (wants, give): (&Wants<'_>, Give<'_, Pair>),
    ) -> Result<()> {
        let all = variables(self.state.variables(scope)).into_iter();
        all.filter(|(name, _)| wants.has("VARIABLE_NAME", name))
            .try_for_each(give)
    }

    fn status(
        &self,
        scope: VariableScope,
        (wants, give): (&Wants<'_>, Give<'_, Pair>),
    ) -> Result<()> {
        let all = status((&self.shared, &self.state), scope).into_iter();
        all.filter(|(name, _)| wants.has("VARIABLE_NAME", name))
            .try_for_each(give)
    }
}

const fn pairs(
    name: &'static str,
    each: fn(&Scene, &Wants<'_>, Give<'_, Pair>) -> Result<()>,
) -> Made<Pair> {
    Made {
        database: PERFORMANCE_SCHEMA,
        name,
        each,
        columns: PAIR_COLUMNS,
    }
}

const PAIR_COLUMNS: &[Column<Pair>] = &[
    column("VARIABLE_NAME", NAME, |(name, _)| text(name.as_str())),
    column("VARIABLE_VALUE", VALUE, |(_, value)| text(value.as_str())),
];

/// `performance_schema.global_status`.
pub(super) static GLOBAL_STATUS: Made<Pair> = pairs("global_status", |scene, wants, give| {
    scene.status(VariableScope::Global, (wants, give))
});

/// `performance_schema.session_status`.
pub(super) static SESSION_STATUS: Made<Pair> = pairs("session_status", |scene, wants, give| {
    scene.status(VariableScope::Session, (wants, give))
});

/// `performance_schema.global_variables`.
pub(super) static GLOBAL_VARIABLES: Made<Pair> = pairs("global_variables", |scene, wants, give| {
    scene.variables(VariableScope::Global, (wants, give))
});

/// `performance_schema.session_variables`.
pub(super) static SESSION_VARIABLES: Made<Pair> =
    pairs("session_variables", |scene, wants, give| {
        scene.variables(VariableScope::Session, (wants, give))
    });

/// `performance_schema.persisted_variables`: what SET PERSIST keeps.
pub(super) static PERSISTED_VARIABLES: Made<Pair> =
    pairs("persisted_variables", |scene, wants, give| {
        let all = variables(scene.shared.persisted.all()).into_iter();
        all.filter(|(name, _)| wants.has("VARIABLE_NAME", name))
            .try_for_each(give)
    });

/// A user variable.
pub(super) struct UserVariable {
    thread: u64,
    name: String,
    value: Arc<Value<'static>>,
}

/// `performance_schema.user_variables_by_thread`: those of the session that asks.
pub(super) static USER_VARIABLES_BY_THREAD: Made<UserVariable> = Made {
    database: PERFORMANCE_SCHEMA,
    name: "user_variables_by_thread",
    each: |scene, wants, give| {
        let thread = scene.state.connection_id();
        let are_copied = wants.uses("VARIABLE_VALUE");
        for (name, value) in scene.state.user_variables() {
            if are_copied {
                ceiling::drip("a user variable", value.memory_bytes())?;
            }
            give(UserVariable {
                thread,
                name,
                value,
            })?;
        }
        Ok(())
    },
    columns: &[
        column("THREAD_ID", UBIGINT, |v| Value::UInt(v.thread)),
        column("VARIABLE_NAME", NAME, |v| text(v.name.as_str())),
        column("VARIABLE_VALUE", ColumnType::Text(LobSize::Long), |v| {
            let is_set = !v.value.is_null();
            maybe(is_set.then(|| v.value.to_text()))
        }),
    ],
};
