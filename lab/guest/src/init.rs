//! The first process of a guest.

use std::ffi::OsString;
use std::os::unix::ffi::{OsStrExt, OsStringExt};

/// Stands alone on a line of the console before the command's output.
pub(crate) const BEGIN: &str = "loadline-guest: begin";

/// Stands alone on a line after it.
pub(crate) const END: &str = "loadline-guest: end";

/// What the first process does: it mounts what a system has, waits for the disk, runs the command, notes how that ended,
/// and switches the guest off.
pub(crate) fn script() -> String {
    format!(
        r#"#!/bin/bash
export PATH=/share/bin:/usr/sbin:/usr/bin HOME=/results TERM=dumb
stty -opost 2>/dev/null
mount -t proc proc /proc
mount -t sysfs sys /sys
mount -t devtmpfs dev /dev
ln -s /proc/self/fd /dev/fd
mount -t tmpfs tmp /tmp
mount -t tmpfs run /run
mount -t hostfs -o hostfs=/loadline none /loadline
mount -t hostfs -o hostfs=/loadline/results none /results
mount -t hostfs -o hostfs=/loadline/share none /share
modprobe -aq sd_mod sg virtio_scsi virtio_blk
for turn in {{1..100}}; do
    [ -b /dev/sda ] && break
    sleep 0.05
done
cd /results
echo "{BEGIN}"
if [ -b /dev/sda ]; then
    /bin/bash /loadline/command
    status=$?
else
    echo "the guest's kernel has found no disk; results/console.log has what it said"
    dmesg
    status=125
fi
echo $status > /loadline/status
echo
echo "{END}"
sync
echo o > /proc/sysrq-trigger
sleep 60
"#
    )
}

/// A line of shell that runs these words as one command.
pub(crate) fn command_line(words: &[OsString]) -> OsString {
    let mut line = b"exec".to_vec();
    for word in words {
        line.extend(b" '");
        line.extend(word.as_bytes().iter().flat_map(|byte| match byte {
            b'\'' => b"'\\''".to_vec(),
            other => vec![*other],
        }));
        line.push(b'\'');
    }
    line.push(b'\n');
    OsString::from_vec(line)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_stay_what_they_are() {
        let words = ["sh", "-c", "echo 'a  b' $HOME"].map(OsString::from);
        let line = command_line(&words);
        assert_eq!(line, OsString::from("exec 'sh' '-c' 'echo '\\''a  b'\\'' $HOME'\n"));
    }
}
