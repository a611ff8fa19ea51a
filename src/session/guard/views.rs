//! What views need: those that a statement reads or writes through, whose plan it shows, or that it makes.

use std::cell::Cell;
use std::sync::Arc;

use super::needs::Need;
use super::reads::{self, Touch, Walk};
use crate::accounts::{AccountName, Privilege, Privileges};
use crate::catalog::View;
use crate::error::{Code, Error, Result};
use crate::session::Session;
use crate::sql::ast::{CreateView, Select};
use crate::sql::bind;

/// How deep views may name each other, as for the binder.
const VIEW_DEPTH_MAX: usize = 24;

/// The query of one more view of a statement, this deep, and what it names.
///
/// # Errors
/// 1436 past [`VIEW_DEPTH_MAX`], 1116 past [`bind::VIEWS_MAX`].
fn read(view: &View, (depth, views_count): (usize, &Cell<usize>)) -> Result<(Select, Vec<Touch>)> {
    if bind::VIEWS_MAX <= views_count.replace(views_count.get() + 1) {
        return Err(bind::too_many_views());
    }
    if VIEW_DEPTH_MAX < depth {
        let text = format!("views nest deeper than {VIEW_DEPTH_MAX} levels, the most");
        return Err(Error::new(Code::TooDeep, text));
    }
    let select = bind::query_of(view)?;
    let mut walk = Walk::default();
    walk.select(&select);
    Ok((select, walk.touched))
}

impl Session {
    pub(super) fn view(&self, database: &str, name: &str) -> Option<Arc<View>> {
        let current = self.shared.catalog.current();
        current.view(database, name).map(Arc::clone)
    }

    /// What the query of a view needs: of the session, or of whom it was made for. Writing through it is
    /// writing to its tables. All views of a statement are counted, each time that they are named.
    ///
    /// # Errors
    /// Those of [`read`].
    pub(super) fn view_needs(
        &self,
        view: &View,
        (privileges, depth, views_count): (Privileges, usize, &Cell<usize>),
        out: &mut Vec<Need>,
    ) -> Result<()> {
        let (select, touched) = read(view, (depth, views_count))?;
        let writes = Privileges::of(&[Privilege::Insert, Privilege::Update, Privilege::Delete]);
        let writes = writes.without(writes.without(privileges));
        let bases = reads::bases_of(&select);
        let mut needs = Vec::new();
        for touch in touched {
            let is_base = bases.contains(&&touch.table);
            let database = touch
                .table
                .database
                .unwrap_or_else(|| view.database.clone());
            let table = touch.table.name;
            let mut privileges = touch.privileges;
            if is_base {
                privileges = privileges.with(writes);
            }
            if let Some(inner) = self.view(&database, &table) {
                self.view_needs(&inner, (privileges, depth + 1, views_count), &mut needs)?;
            }
            let need = Need::OnTable {
                database,
                table,
                privileges,
                column: None,
            };
            if !needs.contains(&need) {
                needs.push(need);
            }
        }
        if view.by_invoker {
            out.append(&mut needs);
            return Ok(());
        }
        let (user, host) = &view.definer;
        let need = Need::ByDefiner {
            definer: AccountName::new(user, host),
            database: view.database.clone(),
            view: view.name.clone(),
            needs,
        };
        if !out.contains(&need) {
            out.push(need);
        }
        Ok(())
    }

    /// What showing the plan of a view needs beside that, of the session whatever the view's security: the plan tells
    /// what the view is made of, and how large that is. Who lacks it hears 1345, as from MariaDB 10.11.
    ///
    /// # Errors
    /// Those of [`read`].
    pub(super) fn explained_view_needs(
        &self,
        view: &View,
        (depth, views_count): (usize, &Cell<usize>),
        out: &mut Vec<Need>,
    ) -> Result<()> {
        let (_, touched) = read(view, (depth, views_count))?;
        for touch in touched {
            let named = touch.table.database;
            let database = named.unwrap_or_else(|| view.database.clone());
            let table = touch.table.name;
            let mut privileges = Privileges::of(&[Privilege::Select]);
            if let Some(inner) = self.view(&database, &table) {
                privileges = privileges.with(Privileges::of(&[Privilege::ShowView]));
                self.explained_view_needs(&inner, (depth + 1, views_count), out)?;
            }
            let need = Need::ToExplain {
                database,
                table,
                privileges,
            };
            if !out.contains(&need) {
                out.push(need);
            }
        }
        Ok(())
    }

    /// A view for somebody else, and one in the place of another, need more.
    pub(super) fn create_view_needs(&self, create: &CreateView, out: &mut Vec<Need>) -> Result<()> {
        if create.or_replace || create.alter {
            out.push(self.on_table(&create.view, Privileges::of(&[Privilege::Drop]))?);
        }
        let (user, host) = self.definer(create);
        if self.identity.account != AccountName::new(&user, &host) {
            out.push(Need::Global(&[Privilege::Super]));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{World, session};
    use crate::error::Code;

    /// Of a view that reads in the name of its maker, and of one within it.
    #[tokio::test]
    async fn a_plan_tells_nothing_of_tables_within_views() {
        let mut world = World::new().await;
        world.reset(&[]).await;
        for sql in [
            "CREATE VIEW d.lent AS SELECT a FROM d.t WHERE a = 1",
            "CREATE VIEW d.outer_one AS SELECT a FROM d.lent",
            "GRANT SELECT, SHOW VIEW ON d.outer_one TO p",
        ] {
            world.run(sql).await;
        }
        let mut p = session(&world.shared, "p");
        let explain = "EXPLAIN SELECT * FROM d.outer_one";
        for missing in [
            "GRANT SELECT ON d.lent TO p",
            "GRANT SHOW VIEW ON d.lent TO p",
            "GRANT SELECT ON d.t TO p",
        ] {
            let refused = p.query(explain.as_bytes()).await.map(drop).unwrap_err();
            assert_eq!(refused.code(), Code::ViewNotExplained, "before {missing}");
            world.run(missing).await;
        }
        p.query(explain.as_bytes()).await.map(drop).unwrap();
    }
}
