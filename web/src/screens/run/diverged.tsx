/** What to do with a workflow whose code no longer does what its run has recorded. */

import type { RunDetail } from '../../api.ts';
import { messageOf } from '../../model/json.ts';
import { Notice } from '../../ui/states.tsx';

export function Diverged({ of: run }: { readonly of: RunDetail }) {
  const { code } = (typeof run.error === 'object' && run.error !== null ? run.error : {}) as {
    readonly code?: unknown;
  };
  if (code !== 'REPLAY_DIVERGED') return null;
  const [name] = run.handler.split('@');
  return (
    <Notice tone="failed">
      <p className="strong">The code has changed under this run.</p>
      <p>{messageOf(run.error)} Nothing has happened after that, and nothing is lost.</p>
      <ul className="bullets">
        <li>
          Give workers the code that this run began with, and press <b>Go on</b>. It goes on where it stopped.
        </li>
        <li>
          To keep both, register the new code under a version of its own:{' '}
          <code>{`workflow('${name}', { version: 2 }, …)`}</code>. New runs name the version, and this one stays with
          its own.
        </li>
        <li>
          If the old code is gone, press <b>Run again</b> to begin anew with the same input.
        </li>
      </ul>
    </Notice>
  );
}
