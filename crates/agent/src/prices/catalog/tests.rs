use super::*;

const TABLE: &str = "[[price]]\nmodel = \"a/b\"\ninput = 1\noutput = 2\n";

#[tokio::test]
async fn the_table_follows_its_file() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("prices.toml");
    let prices = PriceCatalog::open(file.clone()).await;
    assert_eq!(prices.table().prices(), []);
    assert!(!prices.has_changed().await);

    std::fs::write(&file, TABLE).unwrap();
    assert!(prices.has_changed().await);
    prices.reload().await.unwrap();
    assert!(!prices.has_changed().await);
    assert_eq!(prices.table().prices().len(), 1);

    // Problems are reported, and the previous table stays in use.
    std::fs::write(&file, format!("{TABLE}oops\n")).unwrap();
    assert!(prices.has_changed().await);
    let problems = prices.reload().await.unwrap_err();
    assert_eq!((problems[0].line, prices.problems()), (5, problems.clone()));
    assert_eq!(prices.table().prices().len(), 1);

    std::fs::remove_file(&file).unwrap();
    prices.reload().await.unwrap();
    assert_eq!((prices.table().prices().len(), prices.problems()), (0, vec![]));
}
