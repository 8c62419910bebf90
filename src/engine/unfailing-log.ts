import type { Log } from './log.ts';

/** A logger that never throws: an error of the sink stays here. Housekeeping must not end because its log fails. */
export function unfailing(log: Log): Log {
  const guarded =
    (level: keyof Log): Log[keyof Log] =>
    (message, fields) =>
      void Promise.try(() => log[level](message, fields)).catch(() => undefined);
  return { info: guarded('info'), warn: guarded('warn'), error: guarded('error') };
}
