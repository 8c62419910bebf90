import type { Log } from './log.ts';

/** A log whose sink may be gone: what it throws, or rejects with, stays here. Housekeeping must not end with its log. */
export function unfailing(log: Log): Log {
  const guarded =
    (level: keyof Log): Log[keyof Log] =>
    (message, fields) =>
      void Promise.try(() => log[level](message, fields)).catch(() => undefined);
  return { info: guarded('info'), warn: guarded('warn'), error: guarded('error') };
}
