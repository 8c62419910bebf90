/** What a check would do by the policy that is written, as the node decides it now. Nothing is started. */

import { useEffect, useState } from 'react';
import { client, errorText, type PoolChecked } from '../../api.ts';
import { fieldOfPoolProblem, type PolicyDraft, policyIn } from '../../model/pool/form.ts';
import { courseText, staffText } from '../../model/pool/words.ts';
import { problemText } from '../../model/schedule-form.ts';
import { plural } from '../../model/text.ts';
import { roughDuration } from '../../model/time.ts';

const PAUSE_MS = 250;
/** Work goes on while somebody thinks. */
const AGAIN_MS = 3_000;

export interface Preview {
  readonly checked: PoolChecked | undefined;
  readonly problems: Readonly<Record<string, string>>;
}

const NONE: Preview = { checked: undefined, problems: {} };

/** Asked for when somebody has stopped typing, and again as the work changes. */
export function usePreview(name: string | undefined, draft: PolicyDraft): Preview {
  const [preview, setPreview] = useState(NONE);
  const { policy, problems } = policyIn(draft);
  const asked = Object.keys(problems).length > 0 ? undefined : JSON.stringify(policy);
  useEffect(() => {
    if (name === undefined || asked === undefined) {
      setPreview(NONE);
      return;
    }
    const end = new AbortController();
    const ask = (): void => {
      const body = { dryRun: true, policy: JSON.parse(asked) as object };
      client.call('checkPool', { params: { name }, body, signal: end.signal }).then(
        (checked) => setPreview({ checked, problems: {} }),
        (error: unknown) => {
          if (end.signal.aborted) return;
          const { details } = error as { readonly details?: { readonly field?: unknown } };
          const field = fieldOfPoolProblem(details?.field) ?? 'max';
          setPreview({ checked: undefined, problems: { [field]: problemText(details, errorText(error)) } });
        },
      );
    };
    const timer = setTimeout(ask, PAUSE_MS);
    const again = setInterval(ask, AGAIN_MS);
    return () => {
      clearTimeout(timer);
      clearInterval(again);
      end.abort();
    };
  }, [asked, name]);
  return Object.keys(problems).length > 0 ? { checked: undefined, problems } : preview;
}

export function WouldDo({ of: checked }: { readonly of: PoolChecked | undefined }) {
  return (
    <section className="would-do" aria-label="What a check would do" aria-live="polite">
      <h3>A check would do this now</h3>
      {checked === undefined ? (
        <p className="quiet">The node says it as you write.</p>
      ) : (
        <>
          <p className="big">{courseText(checked)}</p>
          <p className="quiet">
            {plural(checked.want, 'worker')} desired; {staffText(checked)}; {plural(checked.runnable, 'task')}{' '}
            {checked.runnable === 1 ? 'waits' : 'wait'}
            {checked.oldestAgeMs >= 1000 && `, the oldest for ${roughDuration(checked.oldestAgeMs)}`}
            {checked.blocked > 0 && `; ${checked.blocked.toLocaleString('en')} held by limits`}.
          </p>
        </>
      )}
    </section>
  );
}
