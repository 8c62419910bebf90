import type { Capabilities } from '../../store.ts';
import type { Scene } from './scene.ts';

/** What a case needs beyond the plain port: a capability of the store, or an option of the suite. */
export type Need =
  | 'reopen'
  | 'caller'
  | { readonly [K in keyof Capabilities]: Capabilities[K] extends boolean ? K : never }[keyof Capabilities];

export type Run = (scene: Scene) => Promise<void>;

export interface Case {
  readonly needs: readonly Need[];
  readonly run: Run;
}

/** Cases of one subject. The key of a case is the sentence that it proves. */
export interface Topic {
  readonly name: string;
  /** What each of its cases needs. */
  readonly needs?: readonly Need[];
  readonly cases: Readonly<Record<string, Run | Case>>;
}

export function needing(needs: readonly Need[], run: Run): Case {
  return { needs, run };
}
