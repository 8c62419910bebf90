/** The drawer of one trigger: what it does, how its webhook is called, and its deliveries with what they started. */

import type { Trigger } from '../../api.ts';
import { asSentence, plural } from '../../model/text.ts';
import { actionText, isProblem, outcomeText, sourceText } from '../../model/trigger/words.ts';
import { go } from '../../router.tsx';
import { Drawer } from '../../ui/dialog.tsx';
import { JsonView } from '../../ui/json-view.tsx';
import { KeyValues, Panel } from '../../ui/layout.tsx';
import { Notice, State, WhenLoaded } from '../../ui/states.tsx';
import { Time } from '../../ui/times.tsx';
import { Actions } from './actions.tsx';
import { Deliveries } from './deliveries.tsx';
import { HowToCall } from './how-to-call.tsx';
import { useTrigger } from './use-trigger.ts';

export function TriggerDrawer({ name, onChanged }: { readonly name: string; readonly onChanged: () => void }) {
  const { trigger, deliveries, refresh } = useTrigger(name);
  const changed = (): void => {
    refresh();
    onChanged();
  };
  const problem = deliveries.data?.find(isProblem);
  return (
    <Drawer title={name} onClose={() => go('/triggers')}>
      <WhenLoaded of={trigger}>
        {(data) => (
          <>
            <Actions of={data} onChanged={changed} />
            {problem !== undefined && (
              <Notice tone={problem.n === data.fired ? 'failed' : 'attention'}>
                <p className="strong">{problem.n === data.fired ? 'The last delivery' : 'The last problem'}</p>
                <p>
                  {asSentence(problem.state === 'failed' ? 'what it started has failed' : outcomeText(problem))}{' '}
                  <span className="quiet">
                    <Time at={problem.at} />
                  </span>
                </p>
              </Notice>
            )}
            <About of={data} />
            {data.kind === 'webhook' && <HowToCall of={data} />}
            <WhenLoaded of={deliveries}>{(rows) => <Deliveries of={data} deliveries={rows} />}</WhenLoaded>
            {data.input !== undefined && <JsonView label="Input that it always gives" value={data.input} />}
            <JsonView label="Action" value={data.push ?? data.run ?? { check: data.check }} />
          </>
        )}
      </WhenLoaded>
    </Drawer>
  );
}

function About({ of: data }: { readonly of: Trigger }) {
  return (
    <Panel title="What it does">
      <div className="panel-body">
        <KeyValues
          of={[
            ['State', <State key="s" state={data.enabled ? 'online' : 'paused'} label={data.enabled ? 'on' : 'off'} />],
            ['When', sourceText(data)],
            ['Then', actionText(data)],
            data.kind === 'event' && [
              'Together',
              (data.together ?? data.check !== undefined)
                ? 'one firing for all events that are read at once'
                : 'a firing for each event',
            ],
            data.node !== undefined && ['Node', data.node],
            ['Told', data.tell === false ? 'only its own input' : 'what has happened, and its own input'],
            ['Most', `${(data.rate ?? 600).toLocaleString('en')} firings a minute`],
            ['Fired', plural(data.fired, 'time')],
            ['Changed', <Time key="c" at={data.changedAt} />],
          ]}
        />
      </div>
    </Panel>
  );
}
