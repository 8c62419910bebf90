import type { ChoiceChange, CredentialChoice } from '../../../core/credential/choice.ts';
import type { Holding, HoldingAck, VaultSaid } from '../../../core/credential/holding.ts';
import type { DemandedLevel } from '../../../core/credential/level.ts';

/** A credential is a text, or an object of named texts. */
export const CREDENTIAL_KINDS = ['text', 'fields'] as const;
export type CredentialKind = (typeof CREDENTIAL_KINDS)[number];

/** The part of the port for credentials: what there is, sealed, and which worker holds which version. */
export interface CredentialStore {
  /**
   * Makes a credential or changes one, and says of each worker that is chosen, or is not any more, what it should hold now. A worker that is
   * not chosen any more loses its label in the same write. Refused with `CONFLICT` unless a value has the version after the newest one, which
   * a removal does not take back; and with `NOT_FOUND` if there is none and no value is given.
   */
  credentialPut(params: CredentialPut): Promise<CredentialRecord>;
  /** Drops the value and the choice: all holders are to remove it, and lose its label in the same write. False: there is none. */
  credentialRemove(params: { readonly name: string }): Promise<boolean>;
  /** Those that have a value, by name. */
  credentialList(): Promise<readonly CredentialRecord[]>;
  /** One of any name that there ever was: its version says which comes next. */
  credentialGet(params: { readonly name: string }): Promise<CredentialRecord | undefined>;
  /** All values, or those of these names. */
  credentialValues(params: { readonly names?: readonly string[] }): Promise<readonly SealedCredential[]>;
  /** Who should hold what, and does: all, of one worker, or of some credentials. */
  credentialHoldings(params: HoldingQuery): Promise<readonly HoldingRecord[]>;
  /**
   * What a worker of this name says when it comes; `said` undefined: it has no place for credentials. Answers what it holds and should not,
   * and of which no holding is known.
   */
  credentialReport(params: {
    readonly worker: string;
    readonly said: VaultSaid | undefined;
  }): Promise<readonly string[]>;
  /**
   * What became of an order, as the worker of this name says. The label of the worker follows in the same write. False: no such order
   * stands, and nothing has changed.
   */
  credentialAck(params: HoldingAck & { readonly worker: string; readonly credential: string }): Promise<boolean>;
  /** What is to be sent to these workers. A disabled worker is sent no value. */
  credentialPending(params: { readonly workers: readonly string[] }): Promise<readonly PendingCredential[]>;
  /** The key pair of the cluster. The first one is kept; another one takes its place only if `instead` is the sealed key that is there. */
  credentialSigner(params: {
    readonly signer?: SealedSigner;
    readonly instead?: string;
  }): Promise<SealedSigner | undefined>;
  /**
   * The secret of the cluster becomes another one, and what was sealed under it is sealed anew, all or nothing. Values that are not named
   * stay as they are. A signer that is null is dropped.
   */
  credentialReseal(params: Reseal): Promise<void>;
}

export interface CredentialPut extends ChoiceChange {
  readonly name: string;
  readonly value?: NewCredentialValue | undefined;
  /** Null: none is demanded. */
  readonly level?: DemandedLevel | null | undefined;
}

export interface NewCredentialValue {
  readonly version: number;
  readonly sealed: string;
  readonly kind: CredentialKind;
  /** What its author calls an object of fields. */
  readonly type?: string | undefined;
}

export interface CredentialRecord extends CredentialChoice {
  readonly name: string;
  /** The newest. */
  readonly version: number;
  /** False: it was removed. */
  readonly present: boolean;
  readonly kind: CredentialKind;
  readonly type: string | undefined;
  readonly level: DemandedLevel | undefined;
  readonly createdAt: number;
  readonly changedAt: number;
}

export interface SealedCredential {
  readonly name: string;
  readonly version: number;
  /** Under which it was sealed: a restored store counts further without that. */
  readonly valueVersion: number;
  readonly sealed: string;
}

export interface HoldingQuery {
  readonly worker?: string;
  readonly credentials?: readonly string[];
}

export interface HoldingRecord extends Holding {
  readonly worker: string;
  readonly credential: string;
  /** When it was to be what it should be now. */
  readonly askedAt: number;
  readonly changedAt: number;
}

export interface PendingCredential {
  readonly worker: string;
  readonly credential: string;
  readonly version: number;
  /** Undefined: it is to be removed. */
  readonly level: { readonly demanded: DemandedLevel | undefined } | undefined;
}

/** The private half is sealed, and the public one is for everybody. */
export interface SealedSigner {
  readonly public: string;
  readonly sealed: string;
}

export interface Reseal {
  readonly fingerprint: string;
  readonly values: readonly Pick<SealedCredential, 'name' | 'valueVersion' | 'sealed'>[];
  readonly signer?: SealedSigner | null | undefined;
}
