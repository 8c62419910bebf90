/** How a webhook is called: its address at this node, the headers of its signature, and a command. Its secret is never here. */

import type { Trigger } from '../../api.ts';
import { durationText, millisecondsOf } from '../../model/time.ts';
import { hookCall } from '../../model/trigger/call.ts';
import { addressOf, useMe } from '../../session.ts';
import { Command } from '../../ui/buttons.tsx';
import { KeyValues, Panel } from '../../ui/layout.tsx';

const DEFAULT_WINDOW = '5m';

export function HowToCall({
  of: { path = '', signature, window = DEFAULT_WINDOW, secret, variable },
}: {
  readonly of: Trigger;
}) {
  const address = `${addressOf(useMe())}${path}`;
  const { headers, over, command } = hookCall(address, signature);
  const windowMs = typeof window === 'number' ? window : millisecondsOf(window);
  return (
    <Panel title="How to call it">
      <div className="panel-body stack">
        <Command text={address} />
        <KeyValues
          of={[
            ['Method', 'POST with JSON of at most 256 KiB, and no token'],
            ...headers.map(([name, value]): readonly [string, React.ReactNode] => [
              name,
              <code key={name}>{value}</code>,
            ]),
            [
              'HEX',
              <span key="hex">
                HMAC-SHA-256 of <code>{over}</code> under the secret, in hexadecimal
              </span>,
            ],
            signature !== 'github' && ['SECONDS', `since 1970, at most ${durationText(windowMs)} from now`],
            [
              'Secret',
              variable !== undefined
                ? `in the variable ${variable} of each node`
                : secret === 'sealed'
                  ? 'the one that the sender has chosen; the node keeps it sealed'
                  : 'made by the node and told once; rotate it if it was lost',
            ],
          ]}
        />
        <div className="stack tight">
          <p className="quiet">
            Try it in a shell that has the secret in <code>SECRET</code>. The answer is 202 with the id of what it
            started; each refusal is the same 404.
          </p>
          <Command text={command} />
        </div>
      </div>
    </Panel>
  );
}
