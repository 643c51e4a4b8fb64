//! `loadline study export`

use crate::cli::ExportArgs;
use crate::failure::Failure;
use crate::{show, writable};
use loadline_host::check_own_folder;
use loadline_report::parquet_files;
use loadline_study::{RunFolder, Session};
use serde_json::json;

pub(super) fn carry_out(args: &ExportArgs) -> Result<(), Failure> {
    let folder = RunFolder::at(&args.folder);
    // What is exported is made anew from the records; a result of another form beside them is not of the same program.
    folder.result()?;
    let result = Session::reopen(folder)?.result()?;
    let tables = parquet_files(&result)?;
    let folder = match &args.out {
        Some(folder) => {
            writable::write_all(folder, &tables, |path, table| writable::write(path, table))?;
            folder.clone()
        }
        // What a study's own folder has under that name is of an earlier export.
        None => {
            let own = args.folder.join("parquet");
            check_own_folder(&own).map_err(|error| Failure::unwritable(&own, &error))?;
            writable::write_all(&own, &tables, writable::replace)?;
            own
        }
    };
    let path = |(name, _): &(String, _)| folder.join(name).display().to_string();
    let files: Vec<String> = tables.iter().map(path).collect();
    if args.json.json {
        return show::json(&json!({ "files": files }));
    }
    show::text(&(files.join("\n") + "\n"))
}
