use super::*;

const T1: usize = 1;
const T2: usize = 2;
/// Shares its slot with `T1`.
const T5: usize = 5;

fn stamp(index: usize, time: u64, bytes: u8) -> Stamp {
    Stamp::new(Epoch::new(index, time), Bytes(bytes))
}

/// Thread 1 at time 10, whose epochs since 8 are equivalent; it knows thread 2 up to 20, and thread 5 not at all.
fn accessor() -> Accessor<impl Fn(Epoch) -> bool> {
    let knows = |epoch: Epoch| epoch.index() == T2 && epoch.time() <= 20;
    Accessor { now: Epoch::new(T1, 10), since: 8, knows }
}

fn read_with(write: Stamp, own: Stamp, bytes: u8) -> Step<AfterRead> {
    accessor().read(write, own, Bytes(bytes))
}

fn write_with(write: Stamp, reads: [Stamp; SLOTS], bytes: u8) -> Step<AfterWrite> {
    accessor().write(write, &reads, Bytes(bytes))
}

const NO_READS: [Stamp; SLOTS] = [Stamp::NONE; SLOTS];

#[test]
fn the_first_read_is_stamped_and_marked() {
    let after = AfterRead { read: stamp(T1, 10, 0x3), displaced: Stamp::NONE, mark: true };
    assert_eq!(read_with(Stamp::NONE, Stamp::NONE, 0x3), Step::Stamp(after));
}

#[test]
fn a_read_repeats_a_read_or_a_write_of_the_epoch() {
    assert_eq!(read_with(Stamp::NONE, stamp(T1, 10, 0xf), 0x3), Step::Repeats);
    assert_eq!(read_with(stamp(T1, 10, 0xf), Stamp::NONE, 0x3), Step::Repeats);
    assert_eq!(read_with(stamp(T1, 10, 0xf).with_readers(0b1111), Stamp::NONE, 0x3), Step::Repeats);
    assert_ne!(read_with(Stamp::NONE, stamp(T1, 10, 0x1), 0x3), Step::Repeats);
    assert_ne!(read_with(Stamp::NONE, stamp(T1, 9, 0xf), 0x3), Step::Repeats);
    assert_ne!(read_with(Stamp::NONE, stamp(T5, 10, 0xf), 0x3), Step::Repeats);
}

#[test]
fn a_read_depends_on_a_write_of_the_same_bytes() {
    assert_eq!(read_with(stamp(T2, 21, 0x2), Stamp::NONE, 0x3), Step::Join(Epoch::new(T2, 21)));
    let known = AfterRead { read: stamp(T1, 10, 0x3), displaced: Stamp::NONE, mark: true };
    assert_eq!(read_with(stamp(T2, 20, 0x2), Stamp::NONE, 0x3), Step::Stamp(known));
    assert_eq!(read_with(stamp(T2, 21, 0x4), Stamp::NONE, 0x3), Step::Stamp(known));
}

#[test]
fn a_mark_is_set_once() {
    let marked = stamp(T2, 3, 0xf).with_readers(1 << slot_of(T1));
    let Step::Stamp(after) = read_with(marked, Stamp::NONE, 0xf) else { panic!() };
    assert!(!after.mark);
}

#[test]
fn a_write_repeats_one_that_nobody_has_read() {
    assert_eq!(write_with(stamp(T1, 10, 0xf), NO_READS, 0x3), Step::Repeats);
    assert_ne!(write_with(stamp(T1, 10, 0xf).with_readers(0b0100), NO_READS, 0x3), Step::Repeats);
    assert_ne!(write_with(stamp(T1, 10, 0xc), NO_READS, 0x3), Step::Repeats);
    assert_ne!(write_with(stamp(T1, 9, 0xf), NO_READS, 0x3), Step::Repeats);
}

#[test]
fn a_write_depends_on_writes_and_reads_of_others() {
    assert_eq!(write_with(stamp(T2, 21, 0xf), NO_READS, 0x3), Step::Join(Epoch::new(T2, 21)));
    let mut reads = NO_READS;
    reads[slot_of(T2)] = stamp(T2, 21, 0xf);
    assert_eq!(write_with(Stamp::NONE, reads, 0x3), Step::Join(Epoch::new(T2, 21)));
    reads[slot_of(T2)] = stamp(T2, 20, 0xf);
    let Step::Stamp(after) = write_with(Stamp::NONE, reads, 0x3) else { panic!() };
    assert_eq!(after.reads[slot_of(T2)], stamp(T2, 20, 0xc));
    assert_eq!(after.write, stamp(T1, 10, 0x3).with_readers(1 << slot_of(T2)));
}

#[test]
fn bytes_with_another_epoch_are_displaced() {
    let Step::Stamp(after) = write_with(stamp(T2, 7, 0xf), NO_READS, 0x3) else { panic!() };
    assert_eq!((after.write, after.displaced), (stamp(T1, 10, 0x3), stamp(T2, 7, 0xc)));
    let Step::Stamp(after) = write_with(stamp(T1, 7, 0xf), NO_READS, 0x3) else { panic!() };
    assert_eq!((after.write, after.displaced), (stamp(T1, 10, 0x3), stamp(T1, 7, 0xc)));
}

#[test]
fn equivalent_epochs_of_one_thread_need_no_second_stamp() {
    let Step::Stamp(after) = write_with(stamp(T1, 8, 0xc), NO_READS, 0x3) else { panic!() };
    assert_eq!((after.write, after.displaced), (stamp(T1, 10, 0xf), Stamp::NONE));
    let Step::Stamp(after) = read_with(Stamp::NONE, stamp(T1, 8, 0xc), 0x3) else { panic!() };
    assert_eq!((after.read, after.displaced), (stamp(T1, 10, 0xf), Stamp::NONE));
}

#[test]
fn an_unknown_occupant_of_a_shared_slot_is_kept() {
    let Step::Stamp(after) = read_with(Stamp::NONE, stamp(T5, 3, 0xf), 0xf) else { panic!() };
    assert_eq!((after.read, after.displaced), (stamp(T1, 10, 0xf), stamp(T5, 3, 0xf)));
}

/// The fast paths of all hooks are one comparison: (word ^ now) & (epoch, bytes and, for writes, readers). Here it is
/// put beside the rule for every combination of flags.
#[test]
fn one_comparison_decides_as_the_rule_does() {
    let now = accessor().now;
    for time in [9, 10, 11] {
        for index in [0, T1, T2, T5] {
            for held in 0..=0xfu8 {
                for readers in 0..16 {
                    for older in [0, Stamp::OLDER] {
                        let word = stamp(index, time, held).with_readers(readers).0 | older;
                        for wanted in [0x1, 0x2, 0x3, 0xc, 0xf] {
                            let covered = |mask: u64| (word ^ fast_now(now)) & mask == 0;
                            let write = write_with(Stamp(word), NO_READS, wanted) == Step::Repeats;
                            assert_eq!(covered(fast_mask_of_write(Bytes(wanted))), write);
                            let read = read_with(Stamp::NONE, Stamp(word), wanted) == Step::Repeats;
                            assert_eq!(covered(fast_mask_of_read(Bytes(wanted))), read);
                        }
                    }
                }
            }
        }
    }
}
