/** The steps by which a worker stops an attempt, read from the log. */

export const STOPS = ['abort', 'SIGTERM', 'SIGKILL'] as const;
export type Stop = (typeof STOPS)[number];

interface Line {
  readonly at: number;
  readonly attempt: number;
  readonly stream: string;
  readonly text: string;
}

const STOP_LINE = /^stop \([^)]*\): (abort|SIGTERM|SIGKILL)\b/;

/** When each step was taken to stop an attempt. Only lines that the worker wrote count, never what the task printed. */
export function stopTimes(lines: readonly Line[], attempt: number): ReadonlyMap<Stop, number> {
  const found = new Map<Stop, number>();
  for (const line of lines) {
    if (line.stream !== 'system' || line.attempt !== attempt) continue;
    const stop = STOP_LINE.exec(line.text)?.[1] as Stop | undefined;
    if (stop !== undefined && !found.has(stop)) found.set(stop, line.at);
  }
  return found;
}
