/** The panel of the error of a task, with its stack. */

import { messageOf } from '../../model/json.ts';
import { Panel } from '../../ui/layout.tsx';

export function ErrorPanel({ error }: { readonly error: unknown }) {
  const { stack } = (typeof error === 'object' && error !== null ? error : {}) as { stack?: unknown };
  return (
    <Panel title="Error">
      <div className="panel-body stack tight">
        <pre className="code bad">{messageOf(error)}</pre>
        {typeof stack === 'string' && (
          <details>
            <summary className="quiet">Stack</summary>
            <pre className="code">{stack}</pre>
          </details>
        )}
      </div>
    </Panel>
  );
}
