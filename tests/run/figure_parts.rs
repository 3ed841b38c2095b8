//! Tests of what a figure has for the scripts of pages, and of the texts that a caller may replace.

use crate::common::markup::assert_well_formed;
use crate::figures::{cell, figures};
use flitwise::figure::{Chart, Figure, Matrix, Network, Theme};

/// Groups, and what is in them, are for the scripts of pages; files have none.
#[test]
fn a_page_has_the_data_of_its_figures_and_a_file_has_not() {
    for figure in figures() {
        let [page, file] = [Theme::Page, Theme::File].map(|theme| figure.draw(600, theme));
        assert_well_formed(&page);
        assert_eq!(page.matches("<g").count(), page.matches("</g>").count());
        assert!(!file.contains("<g") && !file.contains("data-"), "{file}");
        let parts: &[&str] = match &figure.chart {
            Chart::Bars(_) => &[
                "data-key=\"1\" data-name=\"&lt;dtable&gt; &amp; &quot;co&quot;\"",
                "data-series=\"0\"",
            ],
            Chart::Curves(_) => &[
                "data-x=\"offered\" data-x-unit=\"Gb/s\" data-y=\"latency\"",
                "data-values=\"1 1 0.1;2 20 0.1\"",
            ],
            Chart::Spans(_) => &[
                "data-zoom=\"0 2\" data-rows=\"0\" data-of=\"rank\"",
                "data-plot=",
                "data-ticks=",
            ],
            Chart::Matrix(_) => &[
                "<title>computing → &lt;b&gt;: 0.5 ± 0.1</title>",
                ">250</text>",
            ],
            _ => &["data-stack=\"\"", "data-series=\"1\""],
        };
        for part in parts {
            assert!(page.contains(part), "{part} in {page}");
        }
    }
}

/// Too many cells for tooltips of their own: one group has all values.
#[test]
fn a_large_matrix_lists_its_values() {
    let cells = (0..900).map(|at| cell(at / 30, at % 30, (at + 1) as f64));
    let figure = Figure {
        title: "t".into(),
        note: String::new(),
        chart: Chart::Matrix(Matrix {
            measure: "KiB".into(),
            names: (0..30).map(|at| at.to_string()).collect(),
            cells: cells.filter(|cell| cell.column != 1).collect(),
            ..Matrix::default()
        }),
    };
    let page = figure.draw(600, Theme::Page);
    assert!(page.contains("data-cells=\"1,,3,4,"), "{page}");
    assert!(page.contains("data-names=\"0;1;2;") && page.contains("data-measure=\"KiB\""));
    assert!(!page.contains("<title>"));
}

#[test]
fn names_and_labels_of_axes_can_be_replaced() {
    for mut figure in figures() {
        let x = figure.set_x_label("over there");
        let y = figure.set_y_label("up there");
        assert!(x);
        let stacked = matches!(figure.chart, Chart::Stacks(_) | Chart::Column(_));
        assert_eq!(y, !stacked);
        let name = match figure.chart {
            Chart::Bars(_) => "<dtable> & \"co\"",
            Chart::Curves(_) => "torus",
            _ => "computing",
        };
        assert!(figure.rename(name, "new"));
        assert!(!figure.rename(name, "new"));
        let svg = figure.draw(600, Theme::File);
        for text in ["over there", "new"]
            .into_iter()
            .chain(y.then_some("up there"))
        {
            assert!(svg.contains(&format!(">{text}</text>")), "{text} in {svg}");
        }
    }
    // A name of several parts.
    let mut figure = figures().remove(4);
    let Chart::Stacks(stacks) = &mut figure.chart else {
        panic!("no stacks");
    };
    stacks.stacks[0].name = "HPL, rr, rr2".into();
    assert!(figure.rename("rr", "round robin"));
    assert!(
        figure
            .draw(600, Theme::File)
            .contains(">HPL, round robin, rr2</text>")
    );
}

#[test]
fn numbers_of_links_have_a_key_in_files() {
    let figure = Figure {
        title: "t".into(),
        note: String::new(),
        chart: Chart::Network(Network {
            key: vec![
                ("a → b".into(), "25 %".into()),
                ("b → a".into(), "3 %".into()),
            ],
            ..Network::default()
        }),
    };
    let file = figure.draw(600, Theme::File);
    assert!(
        file.contains(">a → b: 25 %</text>") && file.contains(">2</text>"),
        "{file}"
    );
    assert!(!figure.draw(600, Theme::Page).contains("25 %"));
}
