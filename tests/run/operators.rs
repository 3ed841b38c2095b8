//! What operators call the parts of their fabric, in the files of a run and in what it says when it stalls.

use flitwise::config::resolve_text;
use flitwise::results::{SeriesFiles, TimelineFile, TimelineFormat};
use flitwise::run::{Control, Status, run_plan};
use std::fs;
use std::path::Path;

/// Two hosts at one switch, and one at the other.
const CABLES: &str = r#"Switch	8 "S-20"	# "leaf" base port 0 lid 6 lmc 0
[1]	"H-10"[1](11) 		# "n1 HCA-1" lid 1 4xQDR
[2]	"H-12"[1](14) 		# "n3 HCA-1" lid 3 4xQDR
[5]	"S-21"[4]		# "spine" lid 7 4xQDR

Switch	8 "S-21"	# "spine" base port 0 lid 7 lmc 0
[1]	"H-11"[1](13) 		# "n2 HCA-1" lid 2 4xQDR
[4]	"S-20"[5]		# "leaf" lid 6 4xQDR

Ca	1 "H-11"		# "n2 HCA-1"
[1](13) 	"S-21"[1]		# lid 2 lmc 0 "spine" lid 7 4xQDR

Ca	1 "H-10"		# "n1 HCA-1"
[1](11) 	"S-20"[1]		# lid 1 lmc 0 "leaf" lid 6 4xQDR

Ca	1 "H-12"		# "n3 HCA-1"
[1](14) 	"S-20"[2]		# lid 3 lmc 0 "leaf" lid 6 4xQDR
"#;
const EXPERIMENT: &str = r#"
[fabric]
kind = "voq"
topology = { kind = "ibnetdiscover", file = "cables" }
[[job]]
trace = "pair.vef"
[baseline]
enabled = false
[congestion_control]
kind = "ib"
[series]
record = ["flows", "port_vls", "sources"]
interval = "1us"
"#;

fn plan(trace: &str, dir: &Path) -> flitwise::config::Plan {
    fs::write(dir.join("cables"), CABLES).unwrap();
    fs::write(dir.join("pair.vef"), trace).unwrap();
    resolve_text("test.toml", EXPERIMENT, dir, &[]).unwrap()
}

#[test]
fn files_of_a_run_have_the_names() {
    let dir = tempfile::tempdir().unwrap();
    let dir = dir.path();
    let plan = plan(
        "VEF3 3 3 0 0 0 0 1000\n0 0 1 100000 4 0 -1\n1 2 1 100000 4 0 -1\n2 1 0 64 6 5 0\n",
        dir,
    );
    let files = SeriesFiles::open(dir, &plan, plan.series.as_ref().unwrap()).unwrap();
    let rows = dir.join("slices.csv");
    let timeline = TimelineFile::create(&rows, TimelineFormat::Csv, &plan.experiment, None);
    let timeline = timeline.unwrap();
    let control = Control::default().recorded_by(&files).seen_by(&timeline);
    let result = run_plan(&plan, &control, 1).unwrap();
    assert_eq!(result.main.status, Status::Complete);
    timeline.finish().unwrap();
    files.finish(&result).unwrap();
    let text = |name: &str| {
        let text = fs::read_to_string(dir.join(name));
        text.unwrap_or_else(|e| panic!("{name}: {e}"))
    };
    assert!(text("flows.svg").contains("n1 HCA-1 → n2 HCA-1"));
    assert!(text("shares.svg").contains("Shares of what n2 HCA-1 receives"));
    assert!(text("port_vls.svg").contains("leaf port 5 → spine, VL 0"));
    let rows = text("slices.csv");
    assert!(
        rows.starts_with("job,rank,stream,nic,nic_name,doing,start_ps,end_ps,peer_rank,region\n")
    );
    assert!(rows.contains("pair,1,0,1,n2 HCA-1,receive,"), "{rows}");
    for name in ["t.paje", "t.pftrace"] {
        let path = dir.join(name);
        let format = TimelineFormat::of_name(&path).unwrap();
        let timeline = TimelineFile::create(&path, format, &plan.experiment, None).unwrap();
        run_plan(&plan, &Control::default().seen_by(&timeline), 1).unwrap();
        timeline.finish().unwrap();
        let bytes = fs::read(&path).unwrap();
        let named = b"rank 1 (n2 HCA-1)";
        assert!(
            bytes.windows(named.len()).any(|part| part == named),
            "{name}"
        );
    }
}
