/** The fields of a push that name its handler and its queue. */

import type { Handler } from '../../api.ts';
import { plural } from '../../model/text.ts';
import { Field } from '../../ui/fields.tsx';
import { Panel } from '../../ui/layout.tsx';

export function HandlerFields({
  handlers,
  handler,
  queue,
  problem,
  onHandler,
  onQueue,
}: {
  readonly handlers: readonly Handler[];
  readonly handler: string;
  readonly queue: string;
  readonly problem: string | undefined;
  readonly onHandler: (name: string) => void;
  readonly onQueue: (name: string) => void;
}) {
  const info = handlers.find(({ name }) => name === handler);
  return (
    <Panel>
      <div className="panel-body fields two">
        <Field
          label="Handler"
          problem={problem}
          hint={
            info === undefined
              ? handler === ''
                ? 'The name of the code that performs the task'
                : 'No worker offers this handler now. The task waits for one.'
              : `${plural(info.workers, 'worker')} ${info.workers === 1 ? 'offers' : 'offer'} it`
          }
        >
          {(props) => (
            <>
              <input
                {...props}
                className="input"
                list="handlers"
                value={handler}
                onChange={(event) => onHandler(event.target.value)}
                autoComplete="off"
                spellCheck={false}
              />
              <datalist id="handlers">
                {handlers.map(({ name }) => (
                  <option key={name} value={name} />
                ))}
              </datalist>
            </>
          )}
        </Field>
        <Field label="Queue" hint="Empty: the name of the handler">
          {(props) => (
            <>
              <input
                {...props}
                className="input"
                list="queues"
                value={queue}
                placeholder={handler}
                onChange={(event) => onQueue(event.target.value)}
                autoComplete="off"
                spellCheck={false}
              />
              <datalist id="queues">
                {info?.queues.map((name) => (
                  <option key={name} value={name} />
                ))}
              </datalist>
            </>
          )}
        </Field>
      </div>
    </Panel>
  );
}
