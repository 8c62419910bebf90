import { fault } from '../errors.ts';

/**
 * A time of the day in a zone, as the milliseconds that a clock in UTC with the same face would show. It is no instant: a change of
 * clocks skips some of these times and repeats others.
 */
export type LocalTime = number;

/** The clocks of a time zone. */
export interface Zone {
  /** How far its clocks are ahead of UTC at an instant. */
  readonly offsetAt: (instant: number) => number;
  /** The instant at which its clocks first show a time; the first instant after the gap when they never do. */
  readonly firstInstantOf: (local: LocalTime) => number;
  /** The first instant in `(from, to]` with another offset than `from`, when `to` has another one. */
  readonly changeBetween: (from: number, to: number) => number | undefined;
}

const SECOND = 1_000;
/** Clocks of all zones are between 12 hours behind and 14 ahead of UTC: these instants lie on both sides of any local time. */
const ASIDE = 16 * 3_600_000;
/** Names are at most 32 characters long; this leaves room. */
const MAX_NAME = 64;

/** The zone of an IANA name. Its rules are those of the running program. */
export function zoneOf(name: string): Zone {
  if (name === 'UTC') return UTC;
  const offsetAt = offsets(name);
  const changeBetween = (from: number, to: number): number | undefined => {
    const before = offsetAt(from);
    if (offsetAt(to) === before) return undefined;
    let [same, other] = [Math.floor(from / SECOND), Math.ceil(to / SECOND)];
    while (other - same > 1) {
      const middle = Math.floor((same + other) / 2);
      if (offsetAt(middle * SECOND) === before) same = middle;
      else other = middle;
    }
    return other * SECOND;
  };
  const firstInstantOf = (local: LocalTime): number => {
    const [before, after] = [offsetAt(local - ASIDE), offsetAt(local + ASIDE)];
    // The larger offset gives the earlier instant.
    for (const offset of before > after ? [before, after] : [after, before]) {
      if (offsetAt(local - offset) === offset) return local - offset;
    }
    return changeBetween(local - ASIDE, local + ASIDE) as number;
  };
  return { offsetAt, firstInstantOf, changeBetween };
}

const UTC: Zone = { offsetAt: () => 0, firstInstantOf: (local) => local, changeBetween: () => undefined };

function offsets(name: string): (instant: number) => number {
  let format: Intl.DateTimeFormat;
  try {
    if (name.length > MAX_NAME) throw new RangeError('too long');
    format = new Intl.DateTimeFormat('en-US', {
      timeZone: name,
      calendar: 'gregory',
      numberingSystem: 'latn',
      hourCycle: 'h23',
      year: 'numeric',
      month: '2-digit',
      day: '2-digit',
      hour: '2-digit',
      minute: '2-digit',
      second: '2-digit',
    });
  } catch {
    throw fault('INVALID_INPUT', {
      field: 'timezone',
      problem: `${JSON.stringify(name.slice(0, MAX_NAME))} is no time zone; one is named like Europe/Berlin or UTC`,
    });
  }
  return (instant) => {
    const second = Math.floor(instant / SECOND) * SECOND;
    // "03/29/2026, 02:30:00"
    const [month, day, year, hour, minute, at] = (format.format(second).match(/\d+/g) as string[]).map(Number) as Face;
    return Date.UTC(year, month - 1, day, hour, minute, at) - second;
  };
}

type Face = [month: number, day: number, year: number, hour: number, minute: number, second: number];
