/* A room with a heater and a thermostat at 20 degrees, as an FMU for co-simulation (FMI 2.0). */
#include <stdlib.h>
#include "fmi2FunctionTypes.h"

enum { POWER, OUTSIDE, ENERGY, DISCOMFORT, TEMPERATURE, N }; /* value references; hours, kW, degrees */

fmi2Component fmi2Instantiate(fmi2String name, fmi2Type type, fmi2String guid, fmi2String place,
                              const fmi2CallbackFunctions *functions, fmi2Boolean visible, fmi2Boolean logging) {
    double *v = calloc(N, sizeof *v);
    v[TEMPERATURE] = 18;
    return v;
}

void fmi2FreeInstance(fmi2Component c) { free(c); }

fmi2Status fmi2SetReal(fmi2Component c, const fmi2ValueReference vr[], size_t n, const fmi2Real value[]) {
    for (size_t i = 0; i < n; i++) ((double *)c)[vr[i]] = value[i];
    return fmi2OK;
}

fmi2Status fmi2GetReal(fmi2Component c, const fmi2ValueReference vr[], size_t n, fmi2Real value[]) {
    for (size_t i = 0; i < n; i++) value[i] = ((double *)c)[vr[i]];
    return fmi2OK;
}

fmi2Status fmi2DoStep(fmi2Component c, fmi2Real time, fmi2Real step, fmi2Boolean no_return) {
    double *v = c, h = step / 100;
    for (int i = 0; i < 100; i++) {
        double heat = v[TEMPERATURE] < 20 ? v[POWER] : 0, cold = 20 - v[TEMPERATURE];
        v[TEMPERATURE] += h * (2 * heat - 0.1 * (v[TEMPERATURE] - v[OUTSIDE]));
        v[ENERGY] += h * 0.3 * heat;
        v[DISCOMFORT] += h * (cold > 0.5 ? 0.2 * cold : 0);
    }
    return fmi2OK;
}

/* The rest of the interface: what always works, and what this room has no use for. */
#define OK(name) fmi2Status name() { return fmi2OK; }
#define NO(name) fmi2Status name() { return fmi2Error; }
const char *fmi2GetTypesPlatform() { return fmi2TypesPlatform; }
const char *fmi2GetVersion() { return "2.0"; }
OK(fmi2SetupExperiment) OK(fmi2EnterInitializationMode) OK(fmi2ExitInitializationMode) OK(fmi2Terminate)
OK(fmi2SetDebugLogging) OK(fmi2CancelStep) NO(fmi2Reset) NO(fmi2GetInteger) NO(fmi2GetBoolean) NO(fmi2GetString)
NO(fmi2SetInteger) NO(fmi2SetBoolean) NO(fmi2SetString) NO(fmi2GetFMUstate) NO(fmi2SetFMUstate) NO(fmi2FreeFMUstate)
NO(fmi2SerializedFMUstateSize) NO(fmi2SerializeFMUstate) NO(fmi2DeSerializeFMUstate) NO(fmi2GetDirectionalDerivative)
NO(fmi2SetRealInputDerivatives) NO(fmi2GetRealOutputDerivatives) NO(fmi2GetStatus) NO(fmi2GetRealStatus)
NO(fmi2GetIntegerStatus) NO(fmi2GetBooleanStatus) NO(fmi2GetStringStatus)
