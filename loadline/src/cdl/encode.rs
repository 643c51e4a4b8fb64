//! `loadline cdl encode`

use super::descriptors::Descriptors;
use crate::failure::Failure;
use crate::{show, writable};
use clap::{Args, ValueEnum};
use loadline_base::Span;
use loadline_device::cdl::{AtaLimits, DescriptorPage, DriveBounds, ModePage};
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

/// What is to be encoded, how, and for which drive.
#[derive(Debug, Args)]
pub(crate) struct EncodeArgs {
    /// A .cdl file or a mode page; for an ATA log two of them, of reads (T2A) and of writes (T2B)
    #[arg(value_name = "FILE", required = true, num_args = 1..=2)]
    files: Vec<PathBuf>,
    /// The form
    #[arg(long = "as", value_enum, value_name = "FORM")]
    form: DescriptorForm,
    /// The new file where the bytes go; without it they are printed in hexadecimal
    #[arg(short, long, value_name = "OUT")]
    output: Option<PathBuf>,
    /// Print the bytes in hexadecimal, beside writing them
    #[arg(long)]
    hex: bool,
    /// Shortest time that the drive takes ("Duration minimum limit" of cdladm info)
    #[arg(long, value_name = "TIME", default_value = "500ns")]
    minimum: Span,
    /// Longest time that the drive takes
    #[arg(long, value_name = "TIME", default_value = "32767500ms")]
    maximum: Span,
    /// After which the kernel gives a command up
    #[arg(long, value_name = "TIME", default_value = "30s")]
    timeout: Span,
}

/// A form of descriptors.
#[derive(Clone, Copy, Debug, ValueEnum)]
enum DescriptorForm {
    /// The SCSI mode page T2A or T2B, 232 bytes
    T2,
    /// The SCSI mode page A or B, 36 bytes
    Ab,
    /// The ATA log page 18h, 512 bytes
    Ata,
    /// The text file that cdladm uploads
    Cdl,
}

pub(super) fn carry_out(args: &EncodeArgs) -> Result<(), Failure> {
    if args.minimum > args.maximum {
        return Err(Failure::Input(format!(
            "--minimum {} is above --maximum {}, and no time is between them",
            args.minimum, args.maximum
        )));
    }
    let inputs = args.files.iter().map(|path| open(path)).collect::<Result<Vec<Input>, _>>()?;
    for (path, input) in args.files.iter().zip(&inputs) {
        judge(args, path, &input.page)?;
    }
    let pages: Vec<DescriptorPage> = inputs.iter().map(|input| input.page).collect();
    let bytes = encode(args, &pages)?;
    if let Some(output) = &args.output {
        writable::write(output, &bytes)?;
    }
    let mut text = String::new();
    if args.hex || args.output.is_none() {
        text += &match args.form {
            DescriptorForm::Cdl => String::from_utf8_lossy(&bytes).into_owned(),
            _ => hexadecimal(&bytes),
        };
    }
    if let Some(output) = &args.output {
        text += &upload(args, output, &inputs);
    }
    show::text(&text)
}

/// What somebody does who wants a real drive to hold what was encoded: cdladm takes text files only.
fn upload(args: &EncodeArgs, output: &Path, inputs: &[Input]) -> String {
    let command = |file: &Path| format!("  cdladm upload --file {} DEV\n", file.display());
    let mut text = "A real drive takes the text file, from cdladm:\n".to_owned();
    if let DescriptorForm::Cdl = args.form {
        return text + &command(output);
    }
    for (path, input) in args.files.iter().zip(inputs) {
        if input.is_text {
            text += &command(path);
        } else {
            let file = path.with_added_extension("cdl");
            let (from, to) = (path.display(), file.display());
            text += &format!("  loadline cdl encode {from} --as cdl -o {to}\n{}", command(&file));
        }
    }
    text
}

/// A page that is to be encoded.
struct Input {
    page: DescriptorPage,
    /// Whether its file is one that cdladm takes.
    is_text: bool,
}

fn open(path: &Path) -> Result<Input, Failure> {
    match Descriptors::open(path)? {
        Descriptors::Text(page) => Ok(Input { page, is_text: true }),
        Descriptors::ModePage(page) => Ok(Input { page, is_text: false }),
        Descriptors::Ata(_) => Err(Failure::Input(format!(
            "{}: an ATA log page, which is encoded already; `loadline cdl show` decodes it",
            path.display()
        ))),
    }
}

/// Refuses what the drive would refuse, and warns of what it would take without effect.
fn judge(args: &EncodeArgs, path: &Path, page: &DescriptorPage) -> Result<(), Failure> {
    let bounds =
        DriveBounds { minimum: args.minimum, maximum: args.maximum, command_timeout: args.timeout };
    for finding in page.findings(&bounds) {
        let text = format!("{}: {finding}", path.display());
        if finding.kind.is_error() {
            return Err(Failure::Input(text));
        }
        show::note(&format!("warning: {text}"));
    }
    if page.guidelines_idle() {
        show::note(&format!(
            "warning: {}: perf-vs-duration-guideline is 0x0 (0 %), so the drive may ignore the guidelines; 0xc allows 20 %",
            path.display()
        ));
    }
    Ok(())
}

fn encode(args: &EncodeArgs, pages: &[DescriptorPage]) -> Result<Vec<u8>, Failure> {
    let [page] = pages else {
        return match args.form {
            DescriptorForm::Ata => encode_ata(args, pages),
            _ => Err(Failure::Input("one FILE at a time; only --as ata takes two".to_owned())),
        };
    };
    match args.form {
        DescriptorForm::Ata => Err(Failure::Input(
            "an ATA log page holds the descriptors of reads and of writes: give both files, T2A and T2B".to_owned(),
        )),
        DescriptorForm::Cdl => Ok(page.file().into_bytes()),
        DescriptorForm::T2 if !page.kind().is_simple() => Ok(page.to_mode_page()),
        DescriptorForm::Ab if page.kind().is_simple() => Ok(page.to_mode_page()),
        DescriptorForm::T2 | DescriptorForm::Ab => Err(Failure::Input(format!(
            "{}: page {}, which is encoded with --as {}",
            args.files[0].display(),
            page.kind(),
            if page.kind().is_simple() { "ab" } else { "t2" },
        ))),
    }
}

/// Two pages, in whichever order they were given.
fn encode_ata(args: &EncodeArgs, pages: &[DescriptorPage]) -> Result<Vec<u8>, Failure> {
    let of = |kind: ModePage| {
        let missing =
            || format!("--as ata takes a page T2A and a page T2B; no FILE holds page {kind}");
        pages.iter().find(|page| page.kind() == kind).ok_or_else(|| Failure::Input(missing()))
    };
    let limits = AtaLimits::from_pages(of(ModePage::T2A)?, of(ModePage::T2B)?);
    let limits = limits.map_err(|error| {
        let [first, second] = [0, 1].map(|place| args.files[place].display().to_string());
        Failure::Input(format!("{first}, {second}: {error}"))
    })?;
    Ok(limits.to_log().to_vec())
}

/// Sixteen bytes per line after the place of the first.
fn hexadecimal(bytes: &[u8]) -> String {
    let mut text = String::new();
    for (line, bytes) in bytes.chunks(16).enumerate() {
        let cells: Vec<String> = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
        writeln!(text, "{:04x}  {}", line * 16, cells.join(" "))
            .expect("a string takes everything");
    }
    text
}
