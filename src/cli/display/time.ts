import { formatUptime } from '../kit/figures.ts';
import type { Column } from './table.ts';

/** `2026-05-04 13:05:06` in the local time zone. */
export function formatTime(at: number): string {
  const date = new Date(at);
  const two = (part: number): string => String(part).padStart(2, '0');
  const day = `${date.getFullYear()}-${two(date.getMonth() + 1)}-${two(date.getDate())}`;
  return `${day} ${two(date.getHours())}:${two(date.getMinutes())}:${two(date.getSeconds())}`;
}

/** `13:05:06.789`, for log lines. */
export function formatClock(at: number): string {
  return `${formatTime(at).slice(11)}.${String(new Date(at).getMilliseconds()).padStart(3, '0')}`;
}

/** `3m 12s ago`, `in 5s`, `now`. */
export function formatRelative(at: number, now: number): string {
  const ms = at - now;
  if (Math.abs(ms) < 1000) return 'now';
  return ms < 0 ? `${formatUptime(-ms)} ago` : `in ${formatUptime(ms)}`;
}

/** `250ms`, `4.2s`, `3m 12s`: how long something took. */
export function formatTook(ms: number): string {
  if (ms < 1000) return `${Math.max(0, Math.round(ms))}ms`;
  return ms < 10_000 ? `${(ms / 1000).toFixed(1)}s` : formatUptime(ms);
}

/** `2026-05-04 13:05:06 (3m ago)`. */
export function formatWhen(at: number, now: number): string {
  return `${formatTime(at)} (${formatRelative(at, now)})`;
}

/** When it was created: how long ago on a screen, the time elsewhere. */
export function createdColumn(now: number): Column<{ readonly createdAt: number }> {
  return {
    head: 'created',
    cell: ({ createdAt }) => new Date(createdAt).toISOString(),
    show: ({ createdAt }) => formatRelative(createdAt, now),
  };
}
