export { type StoreContractOptions, storeContract } from './store/conformance/contract.ts';
export type { CallerHandle } from './store/conformance/scene.ts';
export { VirtualWorld, type VirtualWorldOptions } from './store/conformance/virtual-world.ts';
export { type LinkContractOptions, linkContract } from './worker/conformance/link-contract.ts';
export type { LinkOperator, LinkSetting, LinkWorld } from './worker/conformance/scene.ts';
