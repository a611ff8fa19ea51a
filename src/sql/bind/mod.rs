//! Stub.
#![expect(missing_docs, reason = "stub")]
use std::sync::Arc;
use super::{ast, bound, context, expr::Expr};
use crate::catalog::{Definitions, Table};
use crate::error::{Error, Result};
pub struct Names<'a> {
    pub definitions: &'a Definitions,
    pub database: Option<&'a str>,
    pub mode: context::Mode,
    pub facts: &'a dyn context::SessionFacts,
}
pub fn select(_: &ast::Select, _: &Names<'_>) -> Result<bound::Select> { Err(Error::internal("stub")) }
pub fn insert(_: &ast::Insert, _: &Names<'_>) -> Result<bound::Insert> { Err(Error::internal("stub")) }
pub fn update(_: &ast::Update, _: &Names<'_>) -> Result<bound::Update> { Err(Error::internal("stub")) }
pub fn delete(_: &ast::Delete, _: &Names<'_>) -> Result<bound::Delete> { Err(Error::internal("stub")) }
pub fn constant(_: &ast::Expr, _: &Names<'_>) -> Result<Expr> { Err(Error::internal("stub")) }
pub fn condition(_: &ast::Expr, _: &Arc<Table>, _: &Names<'_>) -> Result<Expr> { Err(Error::internal("stub")) }
