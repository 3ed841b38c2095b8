//! The script of the page in a real browser. Without Chromium there is nothing to test it with.

use crate::report::sources;
use flitwise::report::page;
use std::process::Command;

/// What a reader does, and what the page then has.
const ACTS: &str = r#"
const seen = {};
const figure = (title) => Array.from(document.querySelectorAll("main figure")).find((one) =>
  one.querySelector("figcaption").textContent.startsWith(title));
const tip = () => Array.from(document.querySelector(".tip").children, (line) => line.textContent).join("|");
const press = (host, key) => {
  host.focus();
  host.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true }));
};
const split = figure("Where the time goes");
press(split.querySelector(".wide"), "ArrowRight");
seen.bar = tip();
split.querySelector(".wide [data-key='1']").dispatchEvent(new MouseEvent("click", { bubbles: true }));
seen.hidden = split.querySelectorAll("[data-series='1'].off").length;
seen.pressed = split.querySelector(".narrow [data-key='1']").getAttribute("aria-pressed");
const ranks = figure("Activities of the ranks of `a`");
press(ranks.querySelector(".wide"), "Home");
seen.span = tip();
const ticks = () => Array.from(ranks.querySelectorAll(".wide .zoomed text"), (text) => text.textContent).join(" ");
ranks.querySelector(".tools button").click();
seen.zoomed = ticks();
press(ranks.querySelector(".wide"), "0");
seen.whole = ticks();
document.body.dataset.seen = Object.values(seen).join(";");
"#;

#[test]
fn figures_of_the_page_answer_in_a_browser() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("page.html");
    let acts = format!("<script>{ACTS}</script></body>");
    let page = page(&sources(), None).unwrap();
    std::fs::write(&file, page.replace("</body>", &acts)).unwrap();
    let output = Command::new("chromium")
        .args(["--headless", "--no-sandbox", "--disable-gpu", "--dump-dom"])
        .arg(format!(
            "--user-data-dir={}",
            dir.path().join("profile").display()
        ))
        .arg(&file)
        .output();
    let Ok(output) = output else {
        eprintln!("skipped: there is no chromium");
        return;
    };
    let dom = String::from_utf8_lossy(&output.stdout);
    let seen = dom.split("data-seen=\"").nth(1);
    let seen = seen.and_then(|rest| rest.split('"').next());
    assert_eq!(
        seen,
        Some(
            "a &amp; &lt;b&gt; &quot;c&quot;, a, computing: 0.001 ns;2;false;rank 0|compute: 0 to 1 ns;\
             0.3 0.4 0.5 0.6 0.7;"
        ),
        "{dom}"
    );
}
