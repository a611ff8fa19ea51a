//! Accounts and views that statements of a lesser right would take away or over.

use super::tests::{World, session};

/// A world with a table of nobody but root, `d.t`, and another one, `d.u`.
async fn world() -> World {
    let mut world = World::new().await;
    world.reset(&[]).await;
    world
}

/// Who may drop roles drops no users by it.
#[tokio::test]
async fn a_user_is_no_role() {
    let mut world = world().await;
    world.run("GRANT DROP ROLE ON *.* TO p").await;
    let mut p = session(&world.shared, "p");
    for sql in ["DROP ROLE q", "DROP ROLE IF EXISTS q", "DROP ROLE r, q"] {
        drop(p.query(sql.as_bytes()).await);
        world.run("SHOW CREATE USER q").await;
    }
    world.run("SHOW CREATE USER r").await;
    p.query(b"DROP ROLE r").await.unwrap();
    // Who may drop both may.
    world.run("DROP ROLE q").await;
}

/// A view that reads in the name of who asks goes on doing so.
#[tokio::test]
async fn an_altered_view_is_read_in_the_same_name() {
    let mut world = world().await;
    world.run("GRANT SELECT ON d.x TO p").await;
    world.run("ALTER VIEW d.x AS SELECT b FROM d.t").await;
    let mut p = session(&world.shared, "p");
    assert!(p.query(b"SELECT * FROM d.x").await.is_err());
    world
        .run("ALTER SQL SECURITY DEFINER VIEW d.x AS SELECT b FROM d.t")
        .await;
    p.query(b"SELECT * FROM d.x").await.unwrap();
}

/// One of somebody else stays theirs, and is not altered by who may not read in their name.
#[tokio::test]
async fn an_altered_view_keeps_its_definer() {
    let mut world = world().await;
    world
        .run("CREATE DEFINER = q VIEW d.of_q AS SELECT a FROM d.u")
        .await;
    world
        .run("GRANT CREATE VIEW, DROP, SELECT ON d.of_q TO p")
        .await;
    let mut p = session(&world.shared, "p");
    p.query(b"SELECT * FROM d.of_q").await.unwrap();
    world.run("ALTER VIEW d.of_q AS SELECT a FROM d.t").await;
    let read = p.query(b"SELECT * FROM d.of_q").await;
    assert_eq!(read.map(drop).unwrap_err().code().errno(), 1356);
    let altered = p.query(b"ALTER VIEW d.of_q AS SELECT 1 AS a").await;
    assert_eq!(altered.map(drop).unwrap_err().code().errno(), 1227);
    world
        .run("ALTER DEFINER = CURRENT_USER VIEW d.of_q AS SELECT a FROM d.t")
        .await;
    p.query(b"SELECT * FROM d.of_q").await.unwrap();
}
