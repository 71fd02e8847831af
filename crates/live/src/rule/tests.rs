use super::*;

const T1: usize = 1;
const T2: usize = 2;
/// Shares its slot with `T1`.
const T9: usize = 9;

fn stamp(index: usize, time: u64, bytes: u8) -> Stamp {
    Stamp::new(Epoch::new(index, time), Bytes(bytes))
}

/// Thread 1 at time 10, whose epochs since 8 are equivalent; it knows thread 2 up to 20, and thread 9 not at all.
fn accessor() -> Accessor<impl Fn(Epoch) -> bool, impl Fn() -> u64> {
    let knows = |epoch: Epoch| epoch.index() == T2 && epoch.time() <= 20;
    Accessor { now: Epoch::new(T1, 10), since: 8, before_since: || 8, knows }
}

/// The same, but a block began at 10, and its caller at 6.
fn callee() -> Accessor<impl Fn(Epoch) -> bool, impl Fn() -> u64> {
    Accessor { now: Epoch::new(T1, 10), since: 10, before_since: || 6, knows: accessor().knows }
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
    assert_eq!(read_with(stamp(T1, 10, 0xf).with_marks(0b11), Stamp::NONE, 0x3), Step::Repeats);
    assert_ne!(read_with(Stamp::NONE, stamp(T1, 10, 0x1), 0x3), Step::Repeats);
    assert_ne!(read_with(Stamp::NONE, stamp(T1, 9, 0xf), 0x3), Step::Repeats);
    assert_ne!(read_with(Stamp::NONE, stamp(T9, 10, 0xf), 0x3), Step::Repeats);
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
    let marked = Stamp(stamp(T2, 3, 0xf).0 | Stamp::mark_of(slot_of(T1)));
    let Step::Stamp(after) = read_with(marked, Stamp::NONE, 0xf) else { panic!() };
    assert!(!after.mark);
}

#[test]
fn a_write_repeats_one_that_nobody_has_read() {
    assert_eq!(write_with(stamp(T1, 10, 0xf), NO_READS, 0x3), Step::Repeats);
    assert_ne!(write_with(stamp(T1, 10, 0xf).with_marks(0b10), NO_READS, 0x3), Step::Repeats);
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
    assert_eq!(after.write.0, stamp(T1, 10, 0x3).0 | Stamp::mark_of(slot_of(T2)));
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
fn bytes_of_the_caller_stay_in_the_word() {
    let both = |time, now: u8, before: u8| stamp(T1, time, now).with_earlier(Bytes(before));
    assert_eq!(callee().restamp(stamp(T1, 7, 0xf), Bytes(0x1)), (both(10, 0x1, 0xe), Stamp::NONE));
    assert_eq!(callee().restamp(both(10, 0x1, 0xe), Bytes(0x2)), (both(10, 0x3, 0xc), Stamp::NONE));
    assert_eq!(callee().restamp(both(10, 0x7, 0x8), Bytes(0x8)), (stamp(T1, 10, 0xf), Stamp::NONE));
    assert_eq!(callee().restamp(both(8, 0x3, 0xc), Bytes(0x8)), (both(10, 0x8, 0x7), Stamp::NONE));
    // At 5 the caller had not begun.
    assert_eq!(callee().restamp(stamp(T1, 5, 0xf), Bytes(0x1)), (stamp(T1, 10, 0x1), stamp(T1, 5, 0xe)));
    assert_eq!(callee().restamp(both(6, 0x3, 0xc), Bytes(0x1)), (stamp(T1, 10, 0x1), both(6, 0x2, 0xc)));
    // Times of the block itself, and the time before it began.
    assert_eq!(accessor().restamp(both(9, 0x1, 0x2), Bytes(0x4)), (stamp(T1, 10, 0x7), Stamp::NONE));
    assert_eq!(accessor().restamp(both(8, 0x1, 0x2), Bytes(0x4)), (both(8, 0x5, 0x2), Stamp::NONE));
}

#[test]
fn a_dependence_is_on_the_time_of_the_bytes_at_hand() {
    let both = stamp(T2, 21, 0x1).with_earlier(Bytes(0x2));
    assert_eq!(accessor().news(both, Bytes(0x3)), Some(Epoch::new(T2, 21)));
    assert_eq!(accessor().news(both, Bytes(0x2)), None, "the thread knows it up to 20");
    let both = stamp(T2, 22, 0x1).with_earlier(Bytes(0x2));
    assert_eq!(accessor().news(both, Bytes(0x2)), Some(Epoch::new(T2, 21)));
}

#[test]
fn an_unknown_occupant_of_a_shared_slot_is_kept() {
    let Step::Stamp(after) = read_with(Stamp::NONE, stamp(T9, 3, 0xf), 0xf) else { panic!() };
    assert_eq!((after.read, after.displaced), (stamp(T1, 10, 0xf), stamp(T9, 3, 0xf)));
}

/// The fast paths of all hooks are one comparison: (word ^ now) & (epoch, bytes and, for writes, marks). Here it is
/// put beside the rule for every combination of flags.
#[test]
fn one_comparison_decides_as_the_rule_does() {
    let now = accessor().now;
    for time in [9, 10, 11] {
        for index in [0, T1, T2, T9] {
            for held in 0..=0xfu8 {
                for marks in 0..4 {
                    for rest in [0, Stamp::OLDER, stamp(0, 0, 0).with_earlier(Bytes(0x5)).0] {
                        let word = stamp(index, time, held).with_marks(marks).0 | rest;
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
