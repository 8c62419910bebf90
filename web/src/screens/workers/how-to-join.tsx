/** What is shown once when a worker was created: the line for its host, or the address and secret of an agent. */

import type { AnswerOf } from '../../../../src/protocol/routes.ts';
import { agentAddress, installLine } from '../../model/workers/join.ts';
import { addressOf, useMe } from '../../session.ts';
import { Command } from '../../ui/buttons.tsx';

/** How the worker comes: by Leasehold on its host, by an installer, or as a program of somebody else. */
export type JoinKind = 'join' | 'install' | 'agent';
export type Manifest = AnswerOf<'releaseManifest'>;

export interface Created {
  readonly name: string;
  readonly join: string;
  readonly secret?: string | undefined;
  readonly code?: string | undefined;
}

export function HowToJoin({
  kind,
  created: { name, join, secret = '', code = '' },
  release,
}: {
  readonly kind: JoinKind;
  readonly created: Created;
  readonly release: Manifest | undefined;
}) {
  const address = addressOf(useMe());
  if (kind === 'agent') {
    return (
      <>
        <p>The agent connects to this address, which must be one that its host can reach:</p>
        <Command text={agentAddress(address)} />
        <p>It says its name, {name}, and this secret in its first message:</p>
        <Command text={secret} />
        <p className="ink-2">Anyone who has the secret can take its tasks.</p>
      </>
    );
  }
  if (kind === 'install') {
    return (
      <>
        <p>
          Run this on the other host, as the user that it is to run as. The address in it must be one that the host can
          reach:
        </p>
        <Command text={installLine(address, release?.key)} />
        <p>It asks for this code, which works once, for ten minutes:</p>
        <Command text={code} />
        {release?.key === undefined && (
          <p className="bad">
            The release of this node is not signed: whoever is that node can run anything on that host.
          </p>
        )}
      </>
    );
  }
  return (
    <>
      <p>Run this on the other host. The address in it must be one that the host can reach:</p>
      <Command text={join} />
      <p className="ink-2">The code works once, for ten minutes.</p>
    </>
  );
}
