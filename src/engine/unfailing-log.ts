import type { Log } from './log.ts';

/** A logger that never throws: an error of the sink stays here. Housekeeping must not end because its log fails. */
export function unfailing(log: Log): Log {
  const guarded =
    (level: keyof Log): Log['info'] =>
    (message, fields) =>
      void Promise.try(() => log[level]?.(message, fields)).catch(() => undefined);
  const debug = log.debug === undefined ? {} : { debug: guarded('debug') };
  return { ...debug, info: guarded('info'), warn: guarded('warn'), error: guarded('error') };
}
