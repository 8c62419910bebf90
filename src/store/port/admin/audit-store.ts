import type { AuditFace, AuditOutcome } from '../../../core/audit/entry.ts';
import type { DutyTerm } from '../duty-store.ts';

/** The part of the port for the audit: who did what to whom, when, from where, and how it ended. */
export interface AuditStore {
  /** Adds an entry, at the store's time; answers its number. One that is to end later has the outcome `began`. */
  auditAdd(params: NewAuditEntry): Promise<number>;
  /** Says how an entry that began has ended, once: an end is never changed. False: there is no such entry that has not ended. */
  auditEnd(params: AuditEnd): Promise<boolean>;
  /** The newest first, those below `before`. Filters are exact. */
  auditList(params: AuditQuery): Promise<readonly AuditEntry[]>;
  /**
   * Removes entries that are older than the retention, the oldest first, and of refused strangers all but the newest `strangers`. Answers how
   * many went.
   */
  auditPrune(params: {
    readonly duty: DutyTerm;
    readonly retentionMs: number;
    readonly strangers: number;
    readonly limit: number;
  }): Promise<number>;
}

export interface NewAuditEntry {
  /** Whose credential it was; `nobody` of a stranger. */
  readonly actor: string;
  /** Of that credential; `none` of a stranger. */
  readonly role: string;
  /** The number of the token; undefined: it had none, or the admin token of a node. */
  readonly token?: number | undefined;
  /** Who the caller said it was, where that is another name. Nobody has checked it. */
  readonly by?: string | undefined;
  readonly action: string;
  readonly target: string;
  readonly face: AuditFace;
  readonly address?: string | undefined;
  readonly request?: string | undefined;
  readonly outcome: AuditOutcome;
  readonly status?: number | undefined;
  readonly code?: string | undefined;
  /** JSON of what may be shown of the target. */
  readonly before?: string | undefined;
  readonly after?: string | undefined;
  /** It stands for that many refusals; default 1. */
  readonly times?: number | undefined;
}

export interface AuditEnd {
  readonly id: number;
  readonly outcome: Exclude<AuditOutcome, 'began'>;
  readonly status: number;
  readonly code?: string | undefined;
  readonly after?: string | undefined;
  /** Of something new, which had no id before; undefined: as it was. */
  readonly target?: string | undefined;
}

export interface AuditEntry extends Omit<NewAuditEntry, 'times'> {
  readonly id: number;
  readonly at: number;
  readonly endedAt: number | undefined;
  readonly times: number;
}

export interface AuditQuery {
  readonly limit: number;
  readonly before?: number | undefined;
  readonly actor?: string | undefined;
  readonly action?: string | undefined;
  readonly target?: string | undefined;
  readonly face?: AuditFace | undefined;
  readonly outcome?: AuditOutcome | undefined;
  /** From this calendar time on. */
  readonly since?: number | undefined;
  /** Before this calendar time. */
  readonly until?: number | undefined;
}
