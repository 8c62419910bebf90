import { AgentCard } from '@a2a-js/sdk';

/** The path of A2A; the card names it. */
export const A2A_PATH = '/a2a';
export const A2A_VERSION = '1.0';
/** Its methods have other names. The same address takes them. */
export const A2A_LEGACY_VERSION = '0.3';

export interface CardOptions {
  readonly address: string;
  readonly version: string;
  /** The handlers of the workers that are online. */
  readonly handlers: readonly string[];
}

/** A card is read by anyone, without a token, and each of its skills comes from what a worker says. */
const MOST_SKILLS = 100;
const MAX_NAME_LENGTH = 63;

/** How this node describes itself to other agents: each handler is a skill. */
export function agentCard({ address, version, handlers }: CardOptions): AgentCard {
  const shown = handlers.filter(isName).toSorted().slice(0, MOST_SKILLS);
  const more = handlers.length - shown.length;
  const besides = more === 0 ? '' : ` Only ${shown.length} of its ${handlers.length} handlers are listed as skills.`;
  return {
    name: 'Leasehold',
    description: `Hands work to fleets of workers and gets every piece finished. A message becomes a task.${besides}`,
    supportedInterfaces: [
      { url: `${address}${A2A_PATH}`, protocolBinding: 'JSONRPC', tenant: '', protocolVersion: A2A_VERSION },
      { url: `${address}${A2A_PATH}`, protocolBinding: 'JSONRPC', tenant: '', protocolVersion: A2A_LEGACY_VERSION },
    ],
    provider: undefined,
    version,
    capabilities: { streaming: true, pushNotifications: false, extensions: [], extendedAgentCard: false },
    securitySchemes: {
      bearer: {
        scheme: {
          $case: 'httpAuthSecurityScheme',
          value: { description: 'A token with the role operator, or read', scheme: 'Bearer', bearerFormat: '' },
        },
      },
    },
    securityRequirements: [{ schemes: { bearer: { list: [] } } }],
    defaultInputModes: ['application/json', 'text/plain'],
    defaultOutputModes: ['application/json'],
    skills: shown.map((handler) => ({
      id: handler,
      name: handler,
      description: `Runs the handler ${handler}: a data part is its input, a text part becomes {text}`,
      tags: ['handler'],
      examples: [],
      inputModes: [],
      outputModes: [],
      securityRequirements: [],
    })),
    signatures: [],
  };
}

/** The card as it is sent: beside the fields of 1.0 it has those that a client of 0.3 looks for. */
export function cardMessage(card: AgentCard): Record<string, unknown> {
  const { securitySchemes, ...sent } = AgentCard.toJSON(card) as Record<string, unknown>;
  const legacy = card.supportedInterfaces.find(({ protocolVersion }) => protocolVersion === A2A_LEGACY_VERSION);
  const schemes = Object.entries((securitySchemes ?? {}) as Record<string, object>);
  return {
    ...sent,
    securitySchemes: Object.fromEntries(
      schemes.map(([name, scheme]) => [name, { ...scheme, type: 'http', scheme: 'bearer' }]),
    ),
    security: schemes.map(([name]) => ({ [name]: [] })),
    url: legacy?.url,
    preferredTransport: legacy?.protocolBinding,
    protocolVersion: A2A_LEGACY_VERSION,
    supportsAuthenticatedExtendedCard: false,
  };
}

/** Handlers are names already; what is none is not shown to strangers. */
function isName(handler: string): boolean {
  return handler.length <= MAX_NAME_LENGTH;
}
