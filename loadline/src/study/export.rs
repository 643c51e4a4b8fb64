//! `loadline study export`

use crate::cli::ExportArgs;
use crate::failure::Failure;
use crate::show;
use loadline_report::write_parquet;
use loadline_study::{RunFolder, Session};
use serde_json::json;

pub(super) fn carry_out(args: &ExportArgs) -> Result<(), Failure> {
    let folder = RunFolder::at(&args.folder);
    // What is exported is made anew from the records; a result of another form beside them is not of the same program.
    folder.result()?;
    let result = Session::reopen(folder)?.result()?;
    let folder = args.out.clone().unwrap_or_else(|| args.folder.join("parquet"));
    let files = write_parquet(&folder, &result)?;
    let files: Vec<String> = files.iter().map(|path| path.display().to_string()).collect();
    if args.json.json {
        return show::json(&json!({ "files": files }));
    }
    show::text(&(files.join("\n") + "\n"))
}
