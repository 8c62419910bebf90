/** The screen of settings: who is logged in, the theme, the settings of the node, and tokens. */

import { useState } from 'react';
import { client } from '../../api.ts';
import { useSignal } from '../../live/signal.ts';
import { duration } from '../../model/time.ts';
import { logOut, useMay, useMe } from '../../session.ts';
import { setTheme, type Theme, theme } from '../../theme.ts';
import { Button, Command } from '../../ui/buttons.tsx';
import { Segmented } from '../../ui/fields.tsx';
import { KeyValues, Page, Panel } from '../../ui/layout.tsx';
import { Countdown, Time } from '../../ui/times.tsx';
import { showError } from '../../ui/toast.tsx';
import { Tokens } from './tokens.tsx';

export default function Settings() {
  const me = useMe();
  const admin = useMay('admin');
  const look = useSignal(theme);
  const { leaseMs, retentionMs, workerStaleMs } = me.settings;
  return (
    <Page title="Settings">
      <div className="cols">
        <Panel
          title="You"
          actions={
            <Button small icon="out" onClick={() => void logOut()}>
              Log out
            </Button>
          }
        >
          <div className="panel-body stack">
            <KeyValues
              of={[
                ['Name', me.name],
                [
                  'Role',
                  <span key="r">
                    {me.role}
                    {me.role === 'read' && ': you can only read'}
                  </span>,
                ],
                ['Node', me.node.address],
              ]}
            />
            <div className="row wrap">
              <span className="quiet">Theme</span>
              <Segmented<Theme>
                label="Theme"
                value={look}
                onChange={setTheme}
                options={[
                  { value: 'system', label: 'System' },
                  { value: 'light', label: 'Light' },
                  { value: 'dark', label: 'Dark' },
                ]}
              />
            </div>
            <LoginLink />
          </div>
        </Panel>
        <Panel title="Settings of this node">
          <div className="panel-body stack">
            <KeyValues
              of={[
                [
                  'Lease',
                  <span key="l">
                    {duration(leaseMs)}{' '}
                    <span className="quiet">without a renewal, then a task goes to another worker</span>
                  </span>,
                ],
                [
                  'Retention',
                  <span key="r">
                    {retentionMs === 0 ? 'forever' : duration(retentionMs)}{' '}
                    <span className="quiet">for finished tasks</span>
                  </span>,
                ],
                [
                  'Worker lost',
                  <span key="w">
                    {duration(workerStaleMs)} <span className="quiet">without a beat</span>
                  </span>,
                ],
                ['Store', me.node.store],
                ['Version', me.node.version],
                ['Up since', <Time key="u" at={me.node.startedAt} />],
              ]}
            />
            <p className="quiet">
              These are options of <code>leasehold up</code>; <code>leasehold up --help</code> lists all of them.
            </p>
          </div>
        </Panel>
      </div>
      {admin && <Tokens />}
    </Page>
  );
}

function LoginLink() {
  const [link, setLink] = useState<{ readonly url: string; readonly expiresAt: number }>();
  if (link === undefined)
    return (
      <div>
        <Button small icon="link" onClick={() => void client.call('createLogin').then(setLink, showError)}>
          Make a login link
        </Button>{' '}
        <span className="quiet">for another browser or a phone</span>
      </div>
    );
  return (
    <div className="once">
      <p className="strong">
        This link logs one browser in, as you. It works for <Countdown to={link.expiresAt} over="no more" />
      </p>
      <Command text={link.url} />
    </div>
  );
}
