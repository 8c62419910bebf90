import type { LimitBounds, LimitView, RateView } from '../../operate/views.ts';
import { formatCount } from '../kit/figures.ts';

/** `100/1m`, `100/1m per key`: as it is given to `limits set`. */
export function rateText({ max, window, perKey }: RateView): string {
  return `${max}/${window}${perKey ? ' per key' : ''}`;
}

/** `4 at once, 100 starts in 1m (10 at once), when full: refuse`. */
export function boundsText({ concurrent, perKey, rate, cost, strategy, backlog }: LimitBounds): string {
  const parts = [
    concurrent === undefined ? undefined : `${formatCount(concurrent)} at once`,
    perKey === undefined ? undefined : `${formatCount(perKey)} at once per key`,
    rate === undefined ? undefined : `${formatCount(rate.max)} starts in ${spanText(rate)}`,
    cost === undefined ? undefined : `cost of ${formatCount(cost.max)} in ${spanText(cost)}`,
    backlog === undefined ? undefined : `${formatCount(backlog)} waiting`,
  ].filter((part) => part !== undefined);
  return `${parts.length === 0 ? 'no bounds' : `at most ${parts.join(', ')}`}; ${STRATEGY_WORDS[strategy]}`;
}

/** In the words of `limits set`, for a list of changes: `4 at once, 100/1m, refuse`. */
export function boundsBrief({ concurrent, perKey, rate, cost, strategy, backlog }: LimitBounds): string {
  const parts = [
    concurrent === undefined ? undefined : `${concurrent} at once`,
    perKey === undefined ? undefined : `${perKey} per key`,
    rate === undefined ? undefined : `rate ${rateText(rate)} (burst ${rate.burst})`,
    cost === undefined ? undefined : `cost ${rateText(cost)} (burst ${cost.burst})`,
    backlog === undefined ? undefined : `backlog ${backlog}`,
    strategy === 'queue' ? undefined : strategy,
  ].filter((part) => part !== undefined);
  return parts.length === 0 ? 'no bounds' : parts.join(', ');
}

function spanText({ window, burst, perKey }: RateView): string {
  return `${window}${perKey ? ' per key' : ''} (burst ${formatCount(burst)})`;
}

const STRATEGY_WORDS: Readonly<Record<LimitBounds['strategy'], string>> = {
  queue: 'more tasks wait',
  refuse: 'more tasks are refused',
  cancel_oldest: 'a task more cancels the oldest one',
  replace_pending: 'a new task replaces those that wait',
};

/** The total is used up, so that the next task waits. */
export function isFull({ concurrent, active }: LimitView): boolean {
  return concurrent !== undefined && active >= concurrent;
}

/** `2 of 4`, or `2` without a bound. */
export function usedText({ used, cap }: { readonly used: number; readonly cap?: number | undefined }): string {
  return cap === undefined ? formatCount(used) : `${formatCount(used)} of ${formatCount(cap)}`;
}
