#!/bin/sh
# Deploys openmirror into a resource group, or brings what is there to this checkout's version.
#
# The order is safe for a system that is at work, and no change is lost in between, because nothing
# is only in memory: files stay in the landing zone, events wait in their queue for the app, doorbells
# in theirs for the runner, and what was applied stands in the Delta logs. So:
#   1. the template   queues, roles and settings are there before anybody needs them; a deployment
#                     over a running one changes only what differs.
#   2. the runner     it reads all that an older app writes. A run that goes on with the old wheel
#                     holds its tables' leases, and whoever comes next goes on from the log.
#   3. the app        last, so that it never starts a runner that is older than itself. While it
#                     restarts, messages wait.
# Every step may be done again: after a failure, or to be sure.
set -eu

root=$(CDPATH='' cd -- "$(dirname -- "$0")/.." && pwd -P)
python=$root/.venv/bin/python # there after the first ./dev
deployment=openmirror         # the verbs read this deployment's outputs

usage() {
    cat <<'USAGE'
scripts/deploy.sh --resource-group GROUP [options]

Deploys openmirror into a resource group that exists, or upgrades what is there. It checks the
subscription, deploys infra/bicep/main.bicep, then the runner (a Databricks bundle), then the
Function App, and verifies all of it with a file that it lands and takes away again. It stops at the
first step that fails, and says what was done and how to go on. Running it again is always safe.

  --resource-group GROUP      where to; make one with: az group create --name GROUP --location REGION
  --parameters FILE           the template's parameters [infra/bicep/small.parameters.json]
  --databricks-target TARGET  deploy the runner to this target of databricks.yml. Without it: to prod
                              if the deployment names a workspace, and otherwise not at all
  --skip-databricks           leave the runner alone: it runs elsewhere, or is deployed by others
  --vendor                    put the app's requirements into its package, for networks where
                              Azure's own build cannot reach a package index
  --what-if                   only check, and show what the template would change
  --help                      this text

You need az (logged in, with the subscription chosen), git, Python, and for the runner the
databricks command line. The job that the runner's bundle makes is told to the app by itself; a
databricksJobId in the parameter file counts more.
USAGE
}

say() { printf 'deploy: %s\n' "$*" >&2; }

# --- What is asked --------------------------------------------------------------------------------

refuse() {
    say "$1"
    say 'scripts/deploy.sh --help says what there is.'
    exit 2
}

group='' parameters=$root/infra/bicep/small.parameters.json
target='' skip='' vendor='' what_if=''
while [ $# -gt 0 ]; do
    case $1 in
    --resource-group | --parameters | --databricks-target)
        if [ $# -lt 2 ] || [ -z "$2" ]; then refuse "$1 needs a value."; fi
        case $1 in
        --resource-group) group=$2 ;;
        --parameters) parameters=$2 ;;
        --databricks-target) target=$2 ;;
        esac
        shift
        ;;
    --skip-databricks) skip=yes ;;
    --vendor) vendor=yes ;;
    --what-if) what_if=yes ;;
    -h | --help)
        usage
        exit
        ;;
    *) refuse "there is no option '$1'." ;;
    esac
    shift
done
[ -n "$group" ] || refuse '--resource-group is missing.'
[ -f "$parameters" ] || refuse "there is no file '$parameters' with parameters."
if [ -n "$target" ] && [ -n "$skip" ]; then
    refuse '--databricks-target and --skip-databricks exclude each other.'
fi

# --- Steps ----------------------------------------------------------------------------------------

finished=''

# stop WHAT REMEDY: a step failed; its own words stand above.
stop() {
    say "this failed: $1"
    if [ -n "$finished" ]; then
        say "done before it, and there to stay:$finished"
    else
        say 'nothing was changed.'
    fi
    say "$2"
    say 'Then run this command again: what is done already is found as it is.'
    exit 1
}

# step WHAT REMEDY COMMAND...: say it, do it, or stop.
step() {
    what=$1
    remedy=$2
    shift 2
    say "$what"
    "$@" || stop "$what" "$remedy"
}

finish() { finished="$finished
  - $1"; }

# parameter NAME: what the parameter file gives it, or nothing.
parameter() {
    "$python" -I -S -c 'import json, sys
said = json.load(open(sys.argv[1], encoding="utf-8"))["parameters"]
print(said.get(sys.argv[2], {}).get("value", ""))' "$parameters" "$1"
}

# previous NAME: the parameter that the last deployment was made with, or nothing.
previous() {
    az deployment group list --resource-group "$group" --output tsv \
        --query "[?name=='$deployment'].properties.parameters.$1.value | [0]"
}

# output NAME: of the deployment. Azure spells some first letters small: functioN_APP.
output() {
    printf '%s' "$outputs" | "$python" -I -S -c 'import json, sys
said = {name.upper(): one["value"] for name, one in (json.load(sys.stdin) or {}).items()}
print(said.get(sys.argv[1], ""))' "$1"
}

deploy_template() {
    az deployment group create --resource-group "$group" --name "$deployment" --output none \
        --template-file "$root/infra/bicep/main.bicep" --parameters "$parameters" \
        --parameters "databricksWorkspaceUrl=$workspace" "databricksJobId=$job"
}

upload_app() {
    # The app's identity reads its package by roles that hold only minutes after they are given.
    for wait in 60 60 0; do
        if az functionapp deployment source config-zip --resource-group "$group" --name "$app" \
            --src "$package" --build-remote "$remote" --output none; then
            return 0
        fi
        [ "$wait" = 0 ] && return 1
        say "the app did not take its package; again in $wait s, in case its roles do not hold yet"
        sleep "$wait"
    done
}

# --- Check ----------------------------------------------------------------------------------------

say "looking at the resource group $group"
az group show --name "$group" --output none ||
    stop 'looking at the resource group' \
        "Log in with: az login. If it is not there: az group create --name '$group' --location REGION"

step 'asking whether the subscription has what is needed' \
    'What is missing, and the remedy of each, stands above.' \
    "$root/dev" openmirror azure preflight --resource-group "$group" --parameters "$parameters"

# A job that was told to the app before stays told, unless the file says otherwise.
read_failed='reading what was deployed before'
workspace=$(parameter databricksWorkspaceUrl) || stop 'reading the parameter file' \
    "It must be a JSON parameter file such as infra/bicep/small.parameters.json."
job=$(parameter databricksJobId)
job_is_given=$job
[ -n "$workspace" ] || workspace=$(previous databricksWorkspaceUrl) ||
    stop "$read_failed" 'The error stands above.'
[ -n "$job" ] || job=$(previous databricksJobId) || stop "$read_failed" 'The error stands above.'

if [ -n "$what_if" ]; then
    step 'asking what the template would change' 'The error stands above.' \
        az deployment group what-if --resource-group "$group" --name "$deployment" \
        --template-file "$root/infra/bicep/main.bicep" --parameters "$parameters" \
        --parameters "databricksWorkspaceUrl=$workspace" "databricksJobId=$job"
    say 'that is what would change; nothing was.'
    exit
fi

# --- 1. The template ------------------------------------------------------------------------------

step 'deploying the template' \
    'Each resource that failed is named above; the deployment stands in the portal as well.' \
    deploy_template
finish 'the template'

# --- 2. The runner --------------------------------------------------------------------------------

read_failed="reading the deployment's outputs"
outputs=$(az deployment group show --resource-group "$group" --name "$deployment" \
    --query properties.outputs --output json) || stop "$read_failed" 'The error stands above.'
workspace=$(output DATABRICKS_WORKSPACE_URL)
app=$(output FUNCTION_APP)
[ -n "$app" ] || stop "$read_failed" \
    'They name no Function App: was the deployment made by another template?'

if [ -z "$target" ] && [ -n "$workspace" ]; then target=prod; fi
if [ -n "$skip" ] || [ -z "$target" ]; then
    say 'the runner is left alone: docs/RUNNER.md says how to run the new wheel'
else
    # What the bundle has to know of the deployment; what you have set yourself counts more.
    : "${DATABRICKS_HOST=$workspace}"
    : "${BUNDLE_VAR_root=$(output OPENMIRROR_ROOT)}"
    : "${BUNDLE_VAR_queues=$(output OPENMIRROR_QUEUES)}"
    : "${BUNDLE_VAR_functions_client_id=$(output FUNCTIONS_CLIENT_ID)}"
    : "${BUNDLE_VAR_runner_client_id=$(output RUNNER_CLIENT_ID)}"
    : "${BUNDLE_VAR_telemetry=$(output APPLICATIONINSIGHTS_CONNECTION_STRING)}"
    export BUNDLE_VAR_root BUNDLE_VAR_queues BUNDLE_VAR_telemetry
    export BUNDLE_VAR_functions_client_id BUNDLE_VAR_runner_client_id
    # Without a workspace in the deployment, the profile of the command line names it.
    [ -z "$DATABRICKS_HOST" ] || export DATABRICKS_HOST
    cd "$root" # where databricks.yml is, which has the wheel built
    step "deploying the runner to the target $target" \
        'What Databricks needs first, once: docs/RUNNER.md. To do without: --skip-databricks' \
        databricks bundle deploy --target "$target"
    finish "the runner, as a job of the target $target"
    summary=$(databricks bundle summary --target "$target" --output json) ||
        stop 'asking for the number of the job' 'The error stands above.'
    # Nobody has to start a job that is always on.
    made=$(printf '%s' "$summary" | "$python" -I -S -c 'import json, sys
jobs = json.load(sys.stdin)["resources"]["jobs"]
always = jobs.get("continuous", {}).get("continuous", {}).get("pause_status") == "UNPAUSED"
print("" if always else jobs["runner"]["id"])') ||
        stop 'asking for the number of the job' 'The bundle has no job called runner.'
    # A number in the parameter file is somebody's decision; one from before may be gone.
    if [ -z "$job_is_given" ] && [ -n "$made" ] && [ "$made" != "$job" ]; then
        job=$made
        [ -n "$workspace" ] || workspace=$DATABRICKS_HOST
        step "telling the app to start job $job" \
            'Each resource that failed is named above.' deploy_template
        finish "the app knows job $job"
    fi
fi

# --- 3. The app -----------------------------------------------------------------------------------

# Only now: the bundle has built packages too, and always without requirements in them.
set --
remote=true
if [ -n "$vendor" ]; then
    remote=false
    set -- --vendor
    version=$(parameter pythonVersion)
    [ -z "$version" ] || set -- --vendor --python "$version"
fi
step 'building the packages' 'What is wrong with the checkout stands above.' \
    "$root/dev" package "$@"
for package in "$root"/dist/openmirror-functions-*.zip; do :; done
step "deploying the app to $app" \
    'A network that only lets some in must let this machine reach the app. The log of the build: az functionapp log deployment show --resource-group GROUP --name APP' \
    upload_app
finish 'the app'

step 'verifying what was deployed' \
    'What is wrong, and the remedy of each, stands above. New roles may take ten minutes to hold.' \
    "$root/dev" openmirror azure verify --resource-group "$group"
say 'done: everything stands, and a file has become a row.'
